"""The ids of a Hugging Face hub, and publishing a data set there.

The hub is that of `$HF_ENDPOINT`; `$HF_TOKEN` or `hf auth login` open what is private.
"""

from __future__ import annotations

import re
from pathlib import Path

from reno_dspy.base.errors import JobError

# What is published: the data, the card, the manifest and the pictures, not the stages.
_PUBLISHED = ("data/*.parquet", "README.md", "manifest.json", "*.png")

_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def is_hub_id(name: str) -> bool:
    """Whether `name` can be an id of the hub (OWNER/NAME), and not a path that does not exist."""
    return _HUB_ID.fullmatch(name) is not None


def push_to_hub(folder: Path, repo: str, digest: str) -> str:
    """Upload a data set directory of ours to `repo`, private if it is new; return its address.

    Raises JobError when the hub refuses; the data set itself is there and whole.
    """
    import httpx
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()
    try:
        address = api.create_repo(repo, repo_type="dataset", private=True, exist_ok=True)
        api.upload_folder(
            repo_id=repo,
            repo_type="dataset",
            folder_path=folder,
            allow_patterns=list(_PUBLISHED),
            commit_message=f"Data set {digest}, built by reno-dspy",
        )
    except (HfHubHTTPError, httpx.HTTPError, OSError, ValueError) as error:
        raise JobError(
            f"The hub did not take {repo}: {error}. The data set is in {folder}; log in "
            "(`hf auth login`) or set HF_TOKEN, and run the same command again."
        ) from error
    return str(address)
