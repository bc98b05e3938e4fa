"""`reno fetch`: a platform's PDFs and JATS, politely."""

from __future__ import annotations

import click

from reno_dspy.cli.options import job_options
from reno_dspy.fetch.config import FetchConfig


@click.command("fetch")
@job_options(FetchConfig)
def command(config: FetchConfig, *, fresh: bool, tracking: bool) -> None:
    """Fetch a platform's articles as PDF and JATS, into a corpus for `reno build`.

    Asks each host at most once a second, obeys robots.txt and Retry-After, continues partial files.
    Where a platform keeps its files stands in reno_dspy/fetch/platforms.yaml, to be edited.
    """
    from reno_dspy.cli.tracking import open_tracker
    from reno_dspy.fetch.job import fetch

    fetched = fetch(config, open_tracker(tracking), fresh=fresh)
    for error, count in fetched.errors.most_common():
        click.echo(f"{count} × {error}")
    click.echo(f"{fetched.articles} articles: {fetched.manifest}")
