"""Options of programs: language models, systems, GEPA jobs. Imports no DSPy, so help is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from reno_dspy.base.config import Config
from reno_dspy.base.failures import MAX_ERRORS, MaxErrors

SYSTEMS = Path(__file__).parent / "recipes" / "systems"
JOBS = Path(__file__).parent / "recipes" / "optimize"

LONG_PROMPT = 4000

Auto = Literal["light", "medium", "heavy"]


class LMSpec(Config):
    """One language model and how it is asked."""

    free: ClassVar[frozenset[str]] = frozenset(
        {"out", "api_base", "api_key_env", "timeout", "num_retries"}
    )

    model: str = Field(description="Route and model, such as openai/gpt-4o or hosted_vllm/NAME.")
    api_base: str | None = Field(
        default=None, description="Base URL of an OpenAI-compatible endpoint."
    )
    api_key_env: str | None = Field(
        default=None, description="Environment variable that holds the key."
    )
    temperature: float | None = Field(default=0.0, description="Sampling temperature.")
    top_p: float | None = Field(default=None, description="Nucleus sampling mass.")
    max_tokens: int | None = Field(default=1024, description="Longest answer, in tokens.")
    seed: int | None = Field(default=None, description="Sampling seed, where the server takes one.")
    timeout: float = Field(default=300.0, description="Seconds to wait for one answer.")
    num_retries: int = Field(default=4, description="Retries of a request that failed transiently.")
    engine: Literal["auto", "lm15", "litellm"] = Field(
        default="auto", description="DSPy's LM backend."
    )
    extra_body: dict[str, Any] = Field(
        default={}, description="Further fields of the request body."
    )


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
    """When a job ends, besides its metric calls. None: no such limit."""

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

    free: ClassVar[frozenset[str]] = frozenset(
        {"out", "api_base", "threads", "final", "max_errors"}
    )

    data: str = Field(description="Data set directory with the splits train and dev.")
    out: Path = Field(description="Run directory.")
    student: str = Field(
        default="embedded",
        description="System to optimize: embedded (the small model, bare) or a recipe.",
    )
    program: Literal["annotate", "extract"] = Field(
        default="annotate", description="What to optimize: annotation, or extraction from articles."
    )
    prompt: str = Field(default="two-shot", description="Seed prompt: a shipped one or a file.")
    api_base: str | None = Field(default=None, description="Where the student is served.")
    max_tokens: int | None = Field(
        default=None, gt=0, description="Longest answer, over the recipe's."
    )
    reflection_lm: str | None = Field(
        default=None, description="Reflection LM, such as openai/gpt-5; none: the student's own."
    )
    reflection: LMSpec | None = Field(default=None, description="How the reflection LM is asked.")
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
    threads: int = Field(default=8, ge=1, description="Requests at once.")
    max_errors: MaxErrors = MAX_ERRORS
    seed: int = Field(default=0, description="Seed of samples and of GEPA.")
    final: bool = Field(default=False, description="Then measure seed and best prompt on test.")
