"""What the pages need besides Markdown: formulas without a script, pictures of results, and links to the repository.

Links to files of the repository are relative, so that they work on GitHub. The site has no such files. There, pictures
of `results` become files of the site. Other links become addresses if pyproject.toml has the repository's address, and
otherwise the text says which file is meant.
"""

import html
import re
import runpy
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
FIGURES = "results/paper/figures"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
PICTURE = re.compile(rf"(?<=\]\()\.\./{FIGURES}/(?=[\w.]+\.png\))")
LINK_OUT = re.compile(r"\[([^\]]*)\]\(\.\./([^)\s#]+)(?:#L(\d+))?\)")


def on_config(config, **context):
    """The site links to the repository if there is an address."""
    config.repo_url = runpy.run_path(str(ROOT / "notebooks" / "address.py"))["of_project"]()
    config.repo_name = "GitHub" if config.repo_url else None
    return config


def on_files(files, config, **context):
    """The pictures of results are files of the site, so that there is no copy of them that could be old."""
    for picture in sorted((ROOT / FIGURES).glob("*.png")):
        files.append(File.generated(config, f"images/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown, config, **context):
    """Pictures of results are found in `images/`, and links to other files lead out of the site."""
    return LINK_OUT.sub(lambda found: _link_out(config.repo_url, *found.groups()), PICTURE.sub("images/", markdown))


def _link_out(address, text, path, line):
    if address:
        return f"[{text}]({address.rstrip('/')}/blob/main/{path}{f'#L{line}' if line else ''})"
    return text if path in text else f"{text} (`{path}{f':{line}' if line else ''}`)"


def on_page_content(content, **context):
    """Formulas become MathML, which browsers draw by themselves, so the pages need neither a script nor a network."""
    return FORMULA.sub(_as_mathml, content)


def _as_mathml(found):
    return convert(html.unescape(found[2]), display="block" if found[1] == "div" else "inline")
