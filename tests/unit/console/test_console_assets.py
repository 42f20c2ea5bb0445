#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The console's pages as far as they can be checked without a browser."""
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
ASSETS = ROOT / 'services/console/web/assets'
IMPORT = r"import \{([^}]*)\} from '\./(\w+\.js)'"
EXPORT = r'^export (?:async )?(?:const|let|class|function) (\w+)'


def event_names():
    """The records of Decision.avsc's union of events."""
    schema = json.loads((ROOT / 'schemas/Decision.avsc').read_text())
    events = next(field for field in schema['fields'] if field['name'] == 'events')
    return [event['name'] for event in events['type']['items']]


class Assets(unittest.TestCase):
    def test_the_timeline_knows_every_event(self):
        words = set(re.findall(r'\w+', (ASSETS / 'timeline.js').read_text()))
        names = event_names()
        self.assertGreater(len(names), 30)
        self.assertEqual([name for name in names if name not in words], [])

    def test_name_no_event_that_does_not_exist(self):
        """Words that look like an event: OrderX and StepX, as JavaScript writes them."""
        names = set(event_names())
        commands = {path.stem for path in (ROOT / 'schemas').glob('*.avsc')}
        for path in ASSETS.glob('*.js'):
            for word in re.findall(r"\b(?:Order|Step|Alert)[A-Z]\w+", path.read_text()):
                self.assertIn(word, names | commands, path.name)

    def test_import_what_the_module_exports(self):
        for path in ASSETS.glob('*.js'):
            for names, module in re.findall(IMPORT, path.read_text()):
                exports = set(re.findall(EXPORT, (ASSETS / module).read_text(), re.M))
                imported = {name.strip() for name in names.split(',')} - {''}
                self.assertEqual(imported - exports, set(), f'{path.name} imports from {module}')


if __name__ == '__main__':
    unittest.main()
