"""`reno ui`: the MLflow UI over this project's runs."""

from __future__ import annotations

import click


@click.command("ui")
@click.option("--port", type=int, default=5000, show_default=True, help="Port; 0 takes a free one.")
@click.option("--open/--no-open", "browser", default=False, help="Open it in a web browser.")
def command(port: int, browser: bool) -> None:
    """Serve the MLflow UI on loopback until Ctrl-C, and print where to look.

    The runs are those of MLFLOW_TRACKING_URI or, without it, of `mlruns/` in this directory. With a
    remote server only the addresses are printed.
    """
    import signal
    import threading

    from tracking.server import serving
    from tracking.store import is_remote, open_existing, public_uri, store_uri

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    uri = store_uri()
    open_existing()
    if is_remote(uri):
        _announce(public_uri(uri).rstrip("/"), browser)
        return
    click.echo(f"Starting the MLflow UI over {public_uri(uri)} ...")
    with serving(uri, port) as address:
        _announce(address, browser)
        click.echo("Ctrl-C ends it.")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo("\nStopped.")


def _announce(address: str, browser: bool) -> None:
    from tracking.runs import ui_links
    from tracking.store import open_existing

    links = ui_links(open_existing())
    click.echo(f"All runs            {address}")
    for name, link in links.items():
        click.echo(f"{name:<19} {address}/{link}")
    if browser:
        click.launch(f"{address}/{next(iter(links.values()), '')}")
