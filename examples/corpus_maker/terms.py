"""The small words that a reference list prints, by the language of the citing article."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Terms:
    """Words and labels; `ordinal` maps an edition number to its printed form."""

    lang: str
    amp: str
    inside: str
    editor: str
    editors: str
    pages: str
    thesis: str
    degree: str
    cited: str
    available: str
    accessed: str
    months: tuple[str, ...]
    ordinals: dict[int, str]
    heading: str
    abstract: str
    keywords: str
    received: str

    def date(self, day: tuple[int, int, int]) -> str:
        """An access date as running text: "12 Mar 2021"."""
        return f"{day[2]} {self.months[day[1] - 1]} {day[0]}"


def _months(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TERMS = {
    "en": Terms(
        "en", "&", "In", "Ed.", "Eds.", "pp.", "doctoral thesis", "Doctoral dissertation", "cited",
        "Available from:", "Accessed", _months("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"),
        {2: "2nd ed", 3: "3rd ed"}, "References", "Abstract", "Keywords", "Received",
    ),
    "pt": Terms(
        "pt", "&", "In", "Org.", "Orgs.", "pp.", "tese de doutorado", "Tese (Doutorado)", "citado",
        "Disponível em:", "Acesso em:",
        _months("jan. fev. mar. abr. maio jun. jul. ago. set. out. nov. dez."),
        {2: "2. ed", 3: "3. ed"}, "Referências", "Resumo", "Palavras-chave", "Recebido em",
    ),
    "es": Terms(
        "es", "y", "En", "Ed.", "Eds.", "pp.", "tesis doctoral", "Tesis doctoral", "citado",
        "Disponible en:", "Consultado el", _months("ene feb mar abr may jun jul ago sep oct nov dic"),
        {2: "2.ª ed", 3: "3.ª ed"}, "Referencias", "Resumen", "Palabras clave", "Recibido el",
    ),
    "fr": Terms(
        "fr", "&", "Dans", "dir.", "dir.", "p.", "thèse de doctorat", "Thèse de doctorat", "cité le",
        "Disponible sur :", "consulté le",
        _months("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
        {2: "2e éd", 3: "3e éd"}, "Références", "Résumé", "Mots-clés", "Reçu le",
    ),
    "de": Terms(
        "de", "&", "In", "Hrsg.", "Hrsg.", "S.", "Dissertation", "Dissertation", "zitiert am",
        "Verfügbar unter:", "Zugriff am",
        _months("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
        {2: "2. Aufl", 3: "3. Aufl"}, "Literatur", "Zusammenfassung", "Schlagwörter", "Eingegangen am",
    ),
}  # fmt: skip
