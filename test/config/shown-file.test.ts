import assert from "node:assert/strict";
import { test } from "node:test";
import { shownFile } from "../../src/config/shown-file.ts";

const FILE = `# my key is hunter2
# and another

[llm]
api_key = "hunter2" # hunter2
base_url = "http://user:hunter2@host/v1"
[[agents]]
id = "main"
keywords = [
  "hunter2",
]
[agents.env]
PASSWORD = "hunter2"
max_retries = 3
hunter2
`;

test("a file is shown without secrets, unknown values and comments, with the numbers of its lines", () => {
  const shown = shownFile(FILE);
  assert.doesNotMatch(JSON.stringify(shown), /hunter2|another/);
  assert.deepEqual(shown.slice(0, 2), [
    { from: 1, to: 3, text: "# …" },
    { from: 4, to: 4, text: "[llm]" },
  ]);
  const textOf = (line: number): string | undefined => shown.find(({ from }) => from === line)?.text;
  assert.equal(textOf(8), 'id = "main"');
  assert.equal(textOf(14), "max_retries = 3");
  assert.match(textOf(5) ?? "", /^api_key = "•+"/);
  assert.match(textOf(13) ?? "", /^PASSWORD = "•+"$/);
  assert.equal(shownFile("").length, 0);
});
