"""Runs the notebooks from a clean kernel and stores their outputs: `make notebooks`."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
MOST_BYTES = 600_000
"""How large a notebook may be, so that previews open at once and the repository stays small."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""What a notebook says of its kernel: nothing that differs between machines."""
OF_A_MACHINE = re.compile(r"(?<![\w./:<])/[\w.-]+/|\b[A-Z]:\\|\b0x[0-9a-f]{6,}")
"""Absolute paths, and addresses in memory."""
READABLE = ("text/plain", "text/html", "text/markdown")
STORED = {*READABLE, "image/png"}


def files() -> list[Path]:
    """The notebooks in their order."""
    return sorted(FOLDER.glob("*.ipynb"))


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run from a clean kernel, without times and versions."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
    return notebook


def faults(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """What is wrong with the stored outputs, one line each."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if [cell.execution_count for cell in cells] != list(range(1, len(cells) + 1)):
        yield "its cells have not all been run in order"
    if dict(notebook.metadata) != METADATA or any(cell.metadata for cell in notebook.cells):
        yield "its metadata say more than the kernel's name"
    for cell in cells:
        for output in cell.outputs:
            for fault in _faults_of(output):
                yield f"cell {cell.execution_count} {fault}"
    if not any("image/png" in output.get("data", {}) for cell in cells for output in cell.outputs):
        yield "it shows no picture"
    size = len(nbformat.writes(notebook).encode())
    if size > MOST_BYTES:
        yield f"it has {size:,} bytes, more than {MOST_BYTES:,}"


def _faults_of(output: nbformat.NotebookNode) -> Iterator[str]:
    if output.output_type == "error":
        yield f"ends in an error: {output.ename}"
        return
    if output.get("name") == "stderr":
        yield "has warnings or a progress bar"
    data = output.get("data", {})
    if not set(data) <= STORED:
        yield f"stores {', '.join(sorted(set(data) - STORED))}"
    text = "".join([output.get("text", ""), *(data.get(kind, "") for kind in READABLE)])
    if "Traceback" in text:
        yield "shows a traceback"
    if "\r" in text:
        yield "shows a progress bar"
    if found := OF_A_MACHINE.search(text):
        yield f"names a place of one machine: {found[0]}"


def main() -> int:
    """Runs and stores every notebook. One with a fault stays as it was."""
    # JAX compiles as it does for a reader, and shows only what a cell shows.
    os.environ.pop("XLA_FLAGS", None)
    failed = False
    for path in files():
        notebook = run(path)
        wrong = list(faults(notebook))
        if not wrong:
            nbformat.write(notebook, path)
        print(f"{path.name}: {'; '.join(wrong) or 'stored'}", flush=True)
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
