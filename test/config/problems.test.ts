// proves: src/config/checks/check-file.ts, src/config/checks/check-agents.ts, src/config/toml-document.ts
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { ConfigError } from "../../src/config/config-error.ts";
import { loadConfig } from "../../src/config/load.ts";
import { configuredPrice } from "../../src/config/config.ts";
import { describeConfig } from "../../src/config/describe-config.ts";
import { configErrorFrom, configFrom, folderWith } from "./folder.ts";

/** Anything but a ConfigError is a crash. */
function loadsOrExplains(cwd: string): void {
  try {
    loadConfig({ cwd, env: {} });
  } catch (error) {
    assert.ok(error instanceof ConfigError, `not a ConfigError: ${String(error)}`);
  }
}

suite("an unknown key", () => {
  const suggestions: [string, string, string][] = [
    ["[llm]\nmax_retrys = 1", "llm.max_retrys", "max_retries"],
    ["[llm]\nmaxRetries = 1", "llm.maxRetries", "max_retries"],
    ["[daemon]\ndrain-deadline = 1", "daemon.drain-deadline", "drain_deadline_ms"],
    ['[[agent]]\nid = "a"', "agent", "agents"],
    ['[defaults]\nmodle = "x"', "defaults.modle", "model"],
    ["[defaults.compaction]\nbackground = 0.5", "defaults.compaction.background", "background_threshold"],
  ];
  for (const [toml, key, suggestion] of suggestions) {
    test(`${key} gets the suggestion ${suggestion}`, (t) => {
      const [problem] = configErrorFrom(t, toml).problems;
      assert.equal(problem?.key, key);
      assert.equal(problem?.suggestion, suggestion);
    });
  }

  test("in the wrong table is told where it belongs", (t) => {
    assert.match(
      configErrorFrom(t, 'model = "x"').message,
      /`model` belongs in \[defaults\] or \[\[agents\]\]/,
    );
    assert.match(configErrorFrom(t, "[log]\nmax_retries = 1").message, /`max_retries` belongs in \[llm\]/);
  });

  test("of a table in the wrong place is told where that belongs", (t) => {
    for (const [table, home] of [
      ["discord", "[platforms.discord]"],
      ["defaults.http", "[http]"],
      ["llm.memory", "[defaults.memory] or [agents.memory]"],
    ] as const) {
      const [problem, another] = configErrorFrom(t, `[${table}]\nx = 1`).problems;
      assert.deepEqual([problem?.key, problem?.expected, another], [table, home, undefined]);
    }
  });

  test("that is like no other gets the list of those that exist", (t) => {
    assert.match(configErrorFrom(t, "[log]\nzzz = 1").message, /expected: one of `level`/);
  });

  test("called __proto__ is only a key", (t) => {
    for (const toml of ["[__proto__]\nx = 1", "__proto__.x = 1", "[llm]\n__proto__ = { x = 1 }"]) {
      assert.match(configErrorFrom(t, toml).message, /__proto__\n +unknown key/);
    }
    assert.equal("x" in {}, false);
  });
});

suite("a wrong value", () => {
  test("that fails several checks is one problem", (t) => {
    const { problems } = configErrorFrom(t, '[http]\nlisten = "off"');
    assert.deepEqual(
      problems.map(({ key }) => key),
      ["http.listen"],
    );
  });

  const cases: [string, RegExp][] = [
    [
      '[llm]\nmax_retries = "3"',
      /llm\.max_retries\n.*\n +expected: a whole number of retries, 0 to 20\n +found: +"3"/,
    ],
    ["[llm]\nmax_retries = -1", /found: +-1/],
    ["[llm]\nmax_retries = 1.5", /found: +1\.5/],
    ["[llm]\nmax_retries = inf", /found: +Infinity/],
    ["llm = 3", /llm\n.*\n +expected: a table, \[llm\]\n +found: +3/],
    ["[[llm]]", /found: +a list/],
    ['[log]\nlevel = "loud"', /one of "trace", "debug", "info", "warn", "error", "silent"\n +found: +"loud"/],
    ["[log]\nlevel = 2026-01-01", /found: +a date/],
    ["agents = []", /expected: one or more \[\[agents\]\]/],
    ["[[agents]]", /agents\[0\]\.id\n +this key is missing/],
    ['[[agents]]\nid = "Has Space"', /small letters/],
    ['[defaults]\ntime_zone = "Europe/Berln"', /IANA time zone.*\n +found: +"Europe\/Berln"/],
    ["[defaults]\ntemperature = 3", /a number from 0 to 2, or "default"/],
    ["[defaults]\ncontext_window = 12", /1024 to 100000000, or 0/],
    ["[defaults.compaction]\ntarget = 60", /a number between 0 and 1\n +found: +60/],
    ['[defaults]\nfallbacks = "a"', /a list of at most 10 names/],
    ['[prompts]\nlanguage = "../../etc"', /language folder/],
  ];
  for (const [toml, expected] of cases) {
    test(`${JSON.stringify(toml)} says what was expected`, (t) => {
      assert.match(configErrorFrom(t, toml).message, expected);
    });
  }

  test("in an agent is named by place and by id, with its line and column", (t) => {
    const [problem] = configErrorFrom(
      t,
      '[[agents]]\nid = "a"\n[[agents]]\nid = "b"\n  model = 7\n',
    ).problems;
    assert.equal(problem?.key, 'agents[1].model (agent "b")');
    assert.deepEqual([problem?.file, problem?.line, problem?.column], ["config.toml", 5, 3]);
  });

  test("in an inline table has the place of its own key", (t) => {
    const [problem] = configErrorFrom(t, 'log = { level = "loud" }').problems;
    assert.deepEqual([problem?.key, problem?.line, problem?.column], ["log.level", 1, 9]);
  });
});

test("all problems come at once, in the order of the file", (t) => {
  const error = configErrorFrom(
    t,
    `typo = 1
[database]
url = "env:NOWHERE"
[llm]
max_retries = "x"
[[agents]]
id = "a"
context_window = 1200
fallbacks = ["m", 3]
[agents.compaction]
background_threshold = 0.9
[[agents]]
id = "a"
[[agents]]
name = "nobody"
`,
  );
  assert.deepEqual(
    error.problems.map((problem) => `${problem.line} ${problem.key}`),
    [
      "1 typo",
      "3 database.url",
      "5 llm.max_retries",
      '8 agents[0].context_window (agent "a")',
      '9 agents[0].fallbacks[1] (agent "a")',
      '11 agents[0].compaction.background_threshold (agent "a")',
      "13 agents[1].id",
      "14 agents[2].id",
    ],
  );
  assert.match(error.message, /has 8 problems/);
});

suite("thresholds", () => {
  test("out of order are refused with every number and where it came from", (t) => {
    const error = configErrorFrom(
      t,
      `[defaults.compaction]
target = 0.6
[[agents]]
id = "low"
[agents.compaction]
background_threshold = 0.5`,
    );
    assert.equal(error.problems.length, 1);
    assert.equal(error.problems[0]?.key, 'agents[0].compaction.background_threshold (agent "low")');
    assert.match(error.message, /target = 0\.6 \(from \[defaults\]\)/);
    assert.match(error.message, /background_threshold = 0\.5 \(from the agent\)/);
    assert.match(error.message, /aggressive_threshold = 0\.85 \(built-in\)/);
  });

  test("a derived target that is not above zero says what it was derived from", (t) => {
    const error = configErrorFrom(t, "[defaults.compaction]\nbackground_threshold = 0.15");
    assert.match(error.message, /target = -0\.05 \(built-in: background_threshold - 0\.2\)/);
  });

  test("wrong in the defaults are one problem, however many agents have them", (t) => {
    const error = configErrorFrom(
      t,
      '[defaults.compaction]\ntarget = 0.9\n[[agents]]\nid = "a"\n[[agents]]\nid = "b"',
    );
    assert.deepEqual(
      error.problems.map((problem) => problem.key),
      ["defaults.compaction.target"],
    );
  });

  test("one that is no number is not also out of order", (t) => {
    const toml = '[defaults.compaction]\nbackground_threshold = "0.5"\naggressive_threshold = 0.6';
    assert.equal(configErrorFrom(t, toml).problems.length, 1);
  });

  test("equal ones are refused", (t) => {
    assert.match(
      configErrorFrom(t, "[defaults.compaction]\naggressive_threshold = 0.8").message,
      /not in order/,
    );
  });
});

suite("the window", () => {
  test("must leave room beside the answer and the reserve", (t) => {
    const error = configErrorFrom(t, "[defaults]\ncontext_window = 1300");
    assert.match(
      error.message,
      /context_window = 1300 \(from \[defaults\]\), max_output_tokens = 2048 \(built-in\)/,
    );
    assert.match(error.message, /: 975 tokens are left/);
  });

  test("may be as small as one that a server lists: the reserve takes a quarter of it at most", (t) => {
    for (const window of [4096, 5000, 6144, 8192]) {
      const own = configFrom(t, `[defaults]\ncontext_window = ${window}`);
      assert.equal(own.agents[0]?.contextWindow, window);
      const ofModel = configFrom(
        t,
        `[defaults]\nmodel = "m"\nmax_output_tokens = 4096\ngeneration_reserve = 4096\n[models."m"]\ncontext_window = ${window}`,
      );
      assert.equal(ofModel.llm.models[0]?.contextWindow, window);
    }
  });
});

const UNSAID = {
  contextWindow: 0,
  maxOutputTokens: 0,
  priceIn: "unknown",
  priceOut: "unknown",
  priceCached: "price_in",
  writePrice: "price_in",
  seesImages: true,
  cacheMarkers: "auto",
} as const;

suite("[models]", () => {
  test("says a window and the longest answer by the model's own name, whatever stands in it", (t) => {
    const { llm } = configFrom(
      t,
      '[models."vendor/a_b.c:8b"]\ncontext_window = 9000\n[models.__proto__]\n[models.plain]\nmax_output_tokens = 10',
    );
    assert.deepEqual(llm.models, [
      { ...UNSAID, name: "vendor/a_b.c:8b", contextWindow: 9000 },
      // One of which nothing is said may be chosen for a channel.
      { ...UNSAID, name: "__proto__" },
      { ...UNSAID, name: "plain", maxOutputTokens: 10 },
    ]);
    assert.equal({}.constructor, Object);
  });

  test("is told with the configuration", (t) => {
    const toml =
      '[defaults]\nmodel = "m"\ncontext_window = 9000\n[models."m"]\ncontext_window = 20000\nmax_output_tokens = 10';
    const told = describeConfig(configFrom(t, toml));
    assert.match(told, /^model {2}m: a window of 20000 tokens, answers of 10 at most$/m);
    assert.match(told, /^ {2}window +20000 tokens, /m);
  });
});

suite("[models], of prices and windows,", () => {
  test("says prices in dollars for a million tokens; what is cached costs as much unless it says otherwise", (t) => {
    const toml =
      '[models."m"]\nprice_in = 0.25\nprice_out = 2\n[models."n"]\nprice_in = 3\nprice_out = 15\nprice_cached = 0.3\nwrite_price = 3.75\n' +
      '[models."free"]\nprice_in = 0\nprice_out = 0';
    const { models } = configFrom(t, toml).llm;
    assert.deepEqual(configuredPrice(models, "m"), { input: 0.25, cached: 0.25, write: 0.25, output: 2 });
    assert.deepEqual(configuredPrice(models, "n"), { input: 3, cached: 0.3, write: 3.75, output: 15 });
    assert.deepEqual(configuredPrice(models, "free"), { input: 0, cached: 0, write: 0, output: 0 });
    assert.equal(configuredPrice(models, "another"), undefined);
    const told = describeConfig(configFrom(t, toml));
    assert.match(
      told,
      /^model {2}n: \$3 in, \$0\.3 of the cache, \$3\.75 written to it, \$15 out for a million tokens$/m,
    );
  });

  test("with half a price, or one that is none, is told with its line", (t) => {
    const half = configErrorFrom(t, '[models."m"]\nprice_in = 1');
    assert.match(half.message, /config\.toml:1[^]*price_out is missing/);
    const cached = configErrorFrom(t, '[models."m"]\nprice_cached = 1');
    assert.match(cached.message, /price_in and price_out is missing/);
    for (const value of ["-1", "nan", "inf", '"1"', "2000000"]) {
      const error = configErrorFrom(t, `[models."m"]\nprice_in = ${value}\nprice_out = 1`);
      assert.match(error.message, /config\.toml:2[^]*dollars for a million tokens/, value);
      assert.doesNotMatch(error.message, /is missing/, value);
    }
  });

  test("tells the windows of the compactor's model and of fallbacks, which an agent's own window is not", (t) => {
    const toml =
      '[defaults]\nmodel = "m"\ncompactor_model = "small"\nfallbacks = ["m", "other", "unheard-of"]\n' +
      'context_window = 9000\n[models."small"]\ncontext_window = 20000\nsees_images = false\ncache_markers = true';
    const known = (model: string): number | undefined => (model === "other" ? 131_072 : undefined);
    const told = describeConfig(configFrom(t, toml), known);
    assert.match(told, /^model {2}small: .*, sent no pictures, requests with cache markers$/m);
    assert.match(
      told,
      /^ {2}window +9000 tokens, .*\n +20000 tokens for small\n +what the server says, else 131072 tokens for other\n +what the server says, the table of known models does not have it for unheard-of$/m,
    );
  });
});

suite("[models]", () => {
  test("with a name that wants quotes says how to write it", (t) => {
    const error = configErrorFrom(t, "[models.llama3.1]\ncontext_window = 9000");
    assert.match(error.message, /\[models\."llama3\.1"\]/);
  });

  test("with a wrong key or value is told with its line", (t) => {
    const typo = configErrorFrom(t, '[models."m"]\ncontext_windw = 9000');
    assert.match(typo.message, /config\.toml:2[^]*context_window/);
    const value = configErrorFrom(t, '[models."m"]\ncontext_window = 12');
    assert.match(value.message, /config\.toml:2[^]*1024 to 100000000/);
    const noTable = configErrorFrom(t, "[models]\nm = 9000");
    assert.match(noTable.message, /a table, \[models\."NAME"\]/);
  });

  test("goes over an agent's own window where the room is judged", (t) => {
    const toml = '[defaults]\nmodel = "m"\ncontext_window = 100000\n[models."m"]\ncontext_window = 1200';
    assert.match(configErrorFrom(t, toml).message, /context_window = 1200 \(from \[models\]\)/);
    assert.ok(configFrom(t, toml.replace('[models."m"]', '[models."other"]')).llm.models.length === 1);
  });
});

suite("a syntax error", () => {
  test("shows the line, with a caret under the place", (t) => {
    const error = configErrorFrom(t, "[llm]\nmax_retries = three\n");
    assert.deepEqual([error.problems[0]?.line, error.problems[0]?.column], [2, 15]);
    assert.match(error.message, /unexpected character.*\n +\| max_retries = three\n +\| {15}\^/);
  });

  test("of an unclosed table points at its own line", (t) => {
    const error = configErrorFrom(t, "[llm\nmax_retries = 3\n");
    assert.equal(error.problems[0]?.line, 1);
  });

  test("that is a key set twice is called that", (t) => {
    for (const [toml, line, told] of [
      ["[log]\n[log]\n", 2, "[log] on line 1 stands again on line 2"],
      ['[log]\nlevel = "info"\n\nlevel = "warn" # again\n', 4, "level on line 2 stands again on line 4"],
      ['[[agents]]\nid = "a"\nmodel = "x"\nmodel = [\n"y"]\n', 4, "model on line 3 stands again on line 4"],
      ["llm.max_retries = 1\n[log]\n[llm]\n", 3, "[llm] on line 1 stands again on line 3"],
      ["[log.a]\n['log'.a]\n", 2, "[log.a] on line 1 stands again on line 2"],
      ["[log]\nx = { a = 1, a = 2 }\n", 2, "this key or table was set before"],
    ] as const) {
      const { message } = configErrorFrom(t, toml);
      assert.match(message, new RegExp(`config\\.toml:${line}:\\d+\\n`));
      assert.ok(message.includes(told), message);
    }
  });

  test("of lists nested without end is no crash", (t) => {
    assert.match(
      configErrorFrom(t, `x = ${"[".repeat(100_000)}`).message,
      /not valid TOML|cannot be read as TOML/,
    );
  });
});

suite("whatever the file holds", () => {
  const shipped = readFileSync(join(import.meta.dirname, "../../config.toml"), "utf8");
  const full = Buffer.from(`${shipped.replaceAll(/^#(?=\S)/gm, "")}\n# \u00e4 \u{1f600} "\u6c34"\n`);

  test("with any bytes put into it, it loads or is explained", (t) => {
    fc.assert(
      fc.property(fc.nat(full.length), fc.uint8Array({ maxLength: 8 }), (at, bytes) =>
        loadsOrExplains(
          folderWith(t, { "config.toml": Buffer.concat([full.subarray(0, at), bytes, full.subarray(at)]) }),
        ),
      ),
      { numRuns: 300 },
    );
  });
});

test("a key or a text as long as the file may be is answered at once", (t) => {
  const long = "a".repeat(900_000);
  for (const toml of [`${long} = 1`, `[log]\nlevel = "${long}"`, `[log]\nlevel = ${long}`]) {
    assert.ok(configErrorFrom(t, toml).message.length < 10_000);
  }
});
