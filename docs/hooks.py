"""What the pages need besides Markdown: formulas without a script, and links to files of the repository."""

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
LINK_OUT = re.compile(r"(?<=\]\()\.\./(?=[^)\s]+\))")


def on_page_markdown(markdown, config, **context):
    """Links like `../fedcos_jax/tree.py` work on GitHub. They become addresses, because the site has no such files."""
    return LINK_OUT.sub(f"{config['repo_url'].rstrip('/')}/blob/main/", markdown)


def on_page_content(content, **context):
    """Formulas become MathML, which browsers draw by themselves, so the pages need neither a script nor a network."""
    return FORMULA.sub(_as_mathml, content)


def _as_mathml(found):
    return convert(html.unescape(found[2]), display="block" if found[1] == "div" else "inline")
