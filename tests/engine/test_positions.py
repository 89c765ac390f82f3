from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from attnlint.syntax.positions import positions

TEXTS = {
    **{path.name: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))},
    "continued": "class A:\n  # said\n  def f(self):\n\n      return (1 +\n  2)\n      # after\n\n\nx = '''a\nb'''; y = 1 \\\n  + 2\n",
    "no last end": "if a:\n\tpass\nelif b: pass\nelse:\n\tasync def f(x=(yield), *, y): ...",
    "carriage returns": "def f(q):\r\n    @g\r\n    class B: pass\r\n    return '''\r\n''', q\r\n",
    "empty": "",
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_node_stands_where_libcst_says(name):
    module = cst.parse_module(TEXTS[name])
    expected = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    found = positions(module)
    assert {node: (one.start.line, one.start.column, one.end.line, one.end.column) for node, one in expected.items()} == {
        node: (*start, *end) for node, (start, end) in found.items()
    }
