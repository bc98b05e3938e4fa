"""Options of programs: language models, systems, GEPA jobs. Imports no DSPy, so help is quick."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_serializer, field_validator, model_validator

from reno_dspy.base.config import Config, Free, validate
from reno_dspy.base.failures import MAX_ERRORS, MaxErrors
from reno_dspy.base.secrets import HIDDEN, redact
from reno_dspy.data.options import StrictData

SYSTEMS = Path(__file__).parent / "recipes" / "systems"
JOBS = Path(__file__).parent / "recipes" / "optimize"

LONG_PROMPT = 4000

Auto = Literal["light", "medium", "heavy"]


# OpenAI's reasoning models, whatever gateway is in front of them; the "-chat" variants are none.
_REASONING = re.compile(
    r"(?:^|/)(?:o[1345](?:-(?:mini|nano|pro))?(?:-\d{4}-\d\d-\d\d)?|gpt-5(?:\.\d+)*(?!-chat)(?:-.*)?)$"
)


def is_reasoning_model(model: str) -> bool:
    """Whether `model` is one of OpenAI's that take no temperature, and think before they answer."""
    return _REASONING.search(model.lower()) is not None


class LMSpec(Config):
    """One language model and how it is asked.

    Credentials are named by their environment variables. Written out, a specification holds none.
    """

    model: str = Field(description="Route and model, such as openai/gpt-4o or hosted_vllm/NAME.")
    api_base: Free[str | None] = Field(
        default=None, description="Base URL of an OpenAI-compatible endpoint."
    )
    api_key_env: Free[str | None] = Field(
        default=None, description="Environment variable that holds the key."
    )
    headers: Free[dict[str, str]] = Field(
        default={}, description="Further HTTP headers; $NAME is that environment variable."
    )
    temperature: float | None = Field(
        default=0.0, description="Sampling temperature; null sends none (the default of gpt-5)."
    )
    top_p: float | None = Field(default=None, description="Nucleus sampling mass.")
    max_tokens: int | None = Field(
        default=1024,
        description="Longest answer, in tokens; null sends none (the default of gpt-5).",
    )
    seed: int | None = Field(default=None, description="Sampling seed, where the server takes one.")
    timeout: Free[float] = Field(
        default=300.0, gt=0, description="Seconds that one whole answer may take."
    )
    num_retries: Free[int] = Field(
        default=4, ge=0, description="Retries of a request that failed transiently."
    )
    max_wait: Free[float] = Field(
        default=600.0,
        ge=0,
        description="Seconds that one answer may wait for rate limits and retries.",
    )
    engine: Literal["auto", "lm15", "litellm"] = Field(
        default="auto", description="DSPy's LM backend."
    )
    extra_body: dict[str, Any] = Field(
        default={}, description="Further fields of the request body."
    )

    @model_validator(mode="before")
    @classmethod
    def _as_a_reasoning_model_takes_it(cls, values: Any) -> Any:
        if isinstance(values, dict) and is_reasoning_model(str(values.get("model"))):
            return {"temperature": None, "max_tokens": None} | values
        return values

    @model_validator(mode="after")
    def _no_temperature_for_a_reasoning_model(self) -> Self:
        if is_reasoning_model(self.model) and self.temperature not in (None, 1.0):
            raise ValueError(f"{self.model} takes no temperature: leave it out, or set it to null")
        return self

    @model_validator(mode="after")
    def _no_query_in_the_address(self) -> Self:
        if self.api_base is not None and "?" in self.api_base:
            raise ValueError(
                "api_base takes no query (?...), for requests go to paths below it: send a credential "
                "in a header (headers: {NAME: $VARIABLE})"
            )
        return self

    def changed(self, **options: Any) -> LMSpec:
        """This specification with other options. Raises InputError when they do not fit together."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return validate(LMSpec, given | options)

    @field_serializer("api_base", "extra_body")
    def _without_credentials(self, value: Any) -> Any:
        return redact(value)

    @field_serializer("headers")
    def _names_and_variables(self, headers: dict[str, str]) -> dict[str, str]:
        return {name: value if "$" in value else HIDDEN for name, value in headers.items()}


class SystemRecipe(Config):
    """An LM system: a model, the prompt it is asked with, how many requests at once."""

    name: str = Field(description="Name in reports and tables.")
    lm: LMSpec = Field(description="The language model.")
    prompt: str = Field(default="two-shot", description="A shipped prompt or a prompt file.")
    extract_prompt: str = Field(
        default="extract", description="Prompt of `reno build --extractor`."
    )
    concurrency: int = Field(default=8, ge=1, description="Requests at once.")


class Objective(Config):
    """What a prompt is optimized for: a weighted mean of these, each in 0..1.

    `brevity` falls with the characters of the instructions, to 0 at `LONG_PROMPT`.
    """

    recall: float = Field(
        default=1.0, ge=0, description="Mean lenient recall over the gold's fields."
    )
    well_formed: float = Field(
        default=0.0, ge=0, description="1 where the answer is one XML element."
    )
    fidelity: float = Field(default=0.0, ge=0, description="1 where tags aside nothing changed.")
    brevity: float = Field(default=0.0, ge=0, description="1 for no instructions, 0 for 4,000.")


class Budget(Config):
    """Limits that end a job, besides its metric calls. None: unlimited."""

    max_minutes: float | None = Field(default=None, gt=0, description="Minutes of this session.")
    max_tokens: int | None = Field(default=None, gt=0, description="Student and reflection tokens.")
    max_cost: float | None = Field(
        default=None, gt=0, description="US dollars, where prices are known."
    )
    patience: int | None = Field(
        default=None, gt=0, description="Proposals without a better candidate."
    )
    min_proposals: int = Field(default=2, ge=1, description="Refuse a budget that allows fewer.")


class OptimizeConfig(Config):
    """A GEPA job."""

    data: str = Field(
        description="Data set with train and dev, or other data, split by citing article."
    )
    out: Free[Path] = Field(description="Run directory.")
    student: str = Field(
        default="embedded",
        description="System to optimize: embedded (the small model, bare) or a recipe.",
    )
    program: Literal["annotate", "extract"] = Field(
        default="annotate", description="What to optimize: annotation, or extraction from articles."
    )
    prompt: str = Field(default="two-shot", description="Seed prompt: a shipped one or a file.")
    api_base: Free[str | None] = Field(default=None, description="Where the student is served.")
    max_tokens: int | None = Field(
        default=None, gt=0, description="Longest answer, over the recipe's."
    )
    reflection_lm: str | None = Field(
        default=None, description="Reflection LM, such as openai/gpt-5; none: the student's own."
    )
    reflection: LMSpec | None = Field(
        default=None, validate_default=True, description="How the reflection LM is asked."
    )
    auto: Auto | None = Field(
        default=None, description="Budget by name, instead of --max-metric-calls."
    )
    max_metric_calls: int | None = Field(default=None, gt=0, description="Budget in metric calls.")
    train_size: int = Field(
        default=40, gt=0, description="Training references that minibatches draw on."
    )
    dev_size: int = Field(
        default=24, gt=0, description="Dev references that every candidate is scored on."
    )
    minibatch: int = Field(default=3, gt=0, description="References a proposal is made from.")
    stratify: tuple[str, ...] = Field(
        default=("source", "language", "publication_type"),
        description="Columns by which the samples of train and dev keep their proportions.",
    )
    objective: Objective = Field(default_factory=Objective, description="What is optimized.")
    budget: Budget = Field(default_factory=Budget, description="Further limits.")
    max_prompt_chars: int = Field(default=4000, gt=0, description="Longest instructions to accept.")
    feedback_chars: int = Field(default=900, ge=200, description="Longest feedback on one answer.")
    threads: Free[int] = Field(default=8, ge=1, description="Requests at once.")
    max_errors: MaxErrors = MAX_ERRORS
    seed: int = Field(default=0, description="Seed of samples and of GEPA.")
    strict_data: Free[StrictData] = False
    final: Free[bool] = Field(
        default=False, description="Then measure seed and best prompt on test."
    )

    @field_validator("final")
    @classmethod
    def _test_is_annotated(cls, final: bool, info: ValidationInfo) -> bool:
        if final and info.data.get("program") != "annotate":
            raise ValueError("measures annotations; extraction cannot be measured on test")
        return final

    @field_validator("reflection", mode="before")
    @classmethod
    def _one_reflection_lm(cls, value: Any, info: ValidationInfo) -> Any:
        """Make it whole: it has the model of `reflection_lm`; it writes, so it is warm and unlimited."""
        if not isinstance(value, dict | None):
            return value
        model = info.data.get("reflection_lm")
        given = (value or {}) | ({"model": model} if model else {})
        if given and "model" not in given:
            raise ValueError("names no model: add --reflection-lm MODEL, or reflection.model")
        return {"temperature": 1.0, "max_tokens": None} | given if given else None
