"""ES modules joined into one script."""

from __future__ import annotations

import re

import pytest

from regard.views.page.document import assets, shell
from regard.views.page.script import AssetError, joined_script


def test_modules_stand_after_those_they_import_and_share_no_names() -> None:
    files = {
        "app.js": 'import { b } from "./core/b.js";\nimport { a } from "./a.js";\nb(a);\n',
        "a.js": "export const a = 1;\nconst own = 2;\nexport {};\n",
        "core/b.js": 'import {\n  a,\n} from "../a.js";\nconst own = 3;\nexport function b(x) {\n'
        "  return x + a + own;\n}\n",
        "never.js": "throw new Error();\n",
        "page.css": "",
    }
    script = joined_script(files)
    order = re.findall(r"^// (\S+)$", script, re.MULTILINE)
    assert order == ["a.js", "core/b.js", "app.js"]
    assert "export" not in script
    assert "import" not in script
    assert re.search(r"const \{ ?a,? ?\} = module0;", script)
    assert "return { b };" in script


def test_comments_go_and_texts_stay() -> None:
    text = (
        "// a line\n/** @typedef {string} Name */\n/**\n * Many\n * lines\n */\n"
        "export function made(/** @type {Name} */ name) {\n  // inside\n"
        "  return `// ${name}\n    /* kept */`;\n}\nmade('//');\n"
    )
    script = joined_script({"app.js": text})
    assert "@type" not in script
    assert "inside" not in script
    assert "Many" not in script
    assert "function made(name) {\nreturn `// ${name}\n    /* kept */`;\n}\nmade('//');" in script


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"app.js": 'import { a } from "./a.js";\n'}, "app.js needs a.js, which is not there"),
        (
            {"app.js": 'import { a } from "./a.js";\n', "a.js": "const a = 1;\n"},
            "app.js imports 'a' from a.js, which exports no such name",
        ),
        (
            {
                "app.js": 'import { a } from "./a.js";\n',
                "a.js": 'import { b } from "./b.js";\nexport const a = b;\n',
                "b.js": 'import { a } from "./a.js";\nexport const b = a;\n',
            },
            "in a circle: a.js imports b.js imports a.js",
        ),
        ({"app.js": 'import * as a from "./a.js";\n', "a.js": ""}, "expected named imports"),
        ({"app.js": "export default 1;\n"}, "expected named imports"),
        ({"app.js": "const a = '</SCRIPT>';\n"}, "'</script' at its line 5"),
        ({"app.js": "const a = '<!--';\n"}, "'<!--'"),
        ({"other.js": ""}, "0 modules are called app.js"),
    ],
)
def test_what_does_not_fit_together_is_said(files: dict[str, str], said: str) -> None:
    with pytest.raises(AssetError, match=re.escape(said)):
        joined_script(files)


def test_the_files_of_the_package_fit_together_and_each_is_used() -> None:
    script = shell().script
    modules = [name for name in assets() if name.endswith(".js")]
    used = re.findall(r"^// (\S+\.js)$", script, re.MULTILINE)
    # types.js holds types alone, which no script imports
    assert {name for name in modules if not name.endswith("types.js")} == set(used)
