/** The Grafana dashboard `ops/grafana/weir.json`: for each panel its queries, and what an operator reads in it. */

interface Query {
  readonly expr: string;
  /** Template of a line's name. */
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  /** What it shows, and what is normal. */
  readonly says: string;
  readonly unit: string;
  readonly queries: readonly Query[];
  /** Default: lines over time. */
  readonly kind?: "stat" | "stacked" | "states";
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const OF_THESE = 'job="$job",instance=~"$instance"';
const WINDOW = "[$__rate_interval]";

/** Series of the chosen daemons. @param matchers further ones */
function series(name: string, matchers = ""): string {
  return `${name}{${OF_THESE}${matchers === "" ? "" : `,${matchers}`}}`;
}

function perSecond(name: string, by: string, matchers = ""): string {
  return `sum by (${by}) (rate(${series(name, matchers)}${WINDOW}))`;
}

/** What a counter grows by in the time between two points of the graph. */
function growth(name: string, by: string, matchers = ""): string {
  return `sum by (${by}) (increase(${series(name, matchers)}${WINDOW}))`;
}

/** The median and the slow end of a histogram. @param by a further label */
function quantiles(histogram: string, by = ""): Query[] {
  const labels = by === "" ? "le" : `le, ${by}`;
  const name = by === "" ? "" : ` {{${by}}}`;
  return [50, 95].map((percent) => ({
    expr: `histogram_quantile(${percent / 100}, sum by (${labels}) (rate(${series(`${histogram}_bucket`)}${WINDOW})))`,
    legend: `p${percent}${name}`,
  }));
}

function share(part: string, whole: string): string {
  return `${part} / ${whole}`;
}

const AT_A_GLANCE: Row = {
  title: "At a glance",
  panels: [
    {
      title: "Checks",
      says: "What /readyz looks at, for each daemon. Open /readyz for the reason.",
      unit: "none",
      kind: "states",
      queries: [{ expr: series("weir_check"), legend: "{{check}} {{instance}}" }],
    },
    {
      title: "Longest wait for an answer",
      says: "Age of the oldest message without an answer. Seconds are normal: the model is writing.",
      unit: "s",
      kind: "stat",
      queries: [{ expr: `max by (platform) (${series("weir_waiting_seconds")})`, legend: "{{platform}}" }],
    },
    {
      title: "Oldest undelivered answer",
      says: "Age of the oldest finished answer that its platform lacks. Normally 0.",
      unit: "s",
      kind: "stat",
      queries: [
        { expr: `max by (platform) (${series("weir_undelivered_seconds")})`, legend: "{{platform}}" },
      ],
    },
    {
      title: "Apologies in 24 hours",
      says: "Turns that failed: the person got an apology. The log has the reason (turn_settled).",
      unit: "short",
      kind: "stat",
      queries: [
        {
          expr: `sum by (platform) (increase(${series("weir_turns_total", 'outcome="failed"')}[24h]))`,
          legend: "{{platform}}",
        },
      ],
    },
    {
      title: "Cost in 24 hours",
      says: "Of models with a known price. No value: none has one.",
      unit: "currencyUSD",
      kind: "stat",
      queries: [
        {
          expr: `sum by (model) (increase(${series("weir_model_cost_dollars_total")}[24h]))`,
          legend: "{{model}}",
        },
      ],
    },
  ],
};

const TURNS: Row = {
  title: "Channels and turns",
  panels: [
    {
      title: "Turns",
      says: "Ends of turns. Skipped: the agent chose silence. Stopped: a person did.",
      unit: "ops",
      kind: "stacked",
      queries: [{ expr: perSecond("weir_turns_total", "outcome"), legend: "{{outcome}}" }],
    },
    {
      title: "Channels",
      says: "Channels in memory, by daemon, and those with a message that waits for its answer.",
      unit: "short",
      queries: [
        { expr: `sum by (instance) (${series("weir_channels_loaded")})`, legend: "loaded {{instance}}" },
        {
          expr: `max by (platform) (${series("weir_waiting_channels")})`,
          legend: "waiting on {{platform}}",
        },
      ],
    },
    {
      title: "Reply latency",
      says: "From a message's arrival until the platform has the whole answer.",
      unit: "s",
      queries: quantiles("weir_reply_seconds", "platform"),
    },
    {
      title: "Weir's part of it",
      says: "Time of turns outside of model calls: recall, tools, waits for an earlier turn.",
      unit: "s",
      queries: quantiles("weir_turn_own_seconds"),
    },
    {
      title: "The model's part of it",
      says: "Time of turns in model calls.",
      unit: "s",
      queries: quantiles("weir_turn_model_seconds"),
    },
    {
      title: "First token",
      says: "From a model's request to its first piece of text.",
      unit: "s",
      queries: quantiles("weir_model_first_token_seconds", "purpose"),
    },
  ],
};

const DELIVERY: Row = {
  title: "Delivery",
  panels: [
    {
      title: "Deliveries",
      says: "Delivered: whole answers. Retried and failed: attempts, for a while or for good.",
      unit: "ops",
      kind: "stacked",
      queries: [
        { expr: perSecond("weir_deliveries_total", "platform, outcome"), legend: "{{platform}} {{outcome}}" },
      ],
    },
    {
      title: "Outbox lag",
      says: "Age of the oldest finished answer that its platform lacks. A rising line: the platform is away.",
      unit: "s",
      queries: [
        { expr: `max by (platform) (${series("weir_undelivered_seconds")})`, legend: "{{platform}}" },
      ],
    },
    {
      title: "Outbox",
      says: "Parts of finished answers that their platform lacks.",
      unit: "short",
      queries: [{ expr: `max by (platform) (${series("weir_undelivered_parts")})`, legend: "{{platform}}" }],
    },
  ],
};

const WINDOW_AND_SUMMARIES: Row = {
  title: "Window and summaries",
  panels: [
    {
      title: "Window fill",
      says: "Share of the usable window that the turns' last requests took. Summaries begin at 80 %, omission at 95 %.",
      unit: "percentunit",
      queries: quantiles("weir_window_used_ratio"),
    },
    {
      title: "Compactions",
      says: "Leaf: of messages. Merge: of summaries. Redo: a bad one again. Written ahead ones are committed later.",
      unit: "short",
      kind: "stacked",
      queries: [
        {
          expr: growth("weir_compactions_total", "kind, outcome", 'outcome!~"failed|stale|extract"'),
          legend: "{{kind}} {{outcome}}",
        },
      ],
    },
    {
      title: "Compactions that failed",
      says: "Extract: a summary without a model stands in. Stale: the range changed meanwhile. Normally none.",
      unit: "short",
      kind: "stacked",
      queries: [
        {
          expr: growth("weir_compactions_total", "kind, outcome", 'outcome=~"failed|stale|extract"'),
          legend: "{{kind}} {{outcome}}",
        },
        {
          expr: `sum(increase(${series("weir_summaries_refused_total")}${WINDOW}))`,
          legend: "refused texts",
        },
      ],
    },
    {
      title: "Time of a compaction",
      says: "No reply waits for it. At over a minute emergencies become likely.",
      unit: "s",
      queries: quantiles("weir_compaction_seconds", "kind"),
    },
    {
      title: "Emergencies",
      says: "Messages left a view before a summary covered them. Normally none.",
      unit: "short",
      queries: [
        { expr: growth("weir_emergencies_total", "instance"), legend: "{{instance}}" },
        { expr: `max by (model) (${series("weir_circuit_open")})`, legend: "{{model}} rests" },
      ],
    },
  ],
};

const MEMORY: Row = {
  title: "Recall and memory",
  panels: [
    {
      title: "Time of recall",
      says: "A turn's search before its first model call. It is cut off after a few tenths of a second.",
      unit: "s",
      queries: quantiles("weir_recall_seconds"),
    },
    {
      title: "Found per turn",
      says: "Entries and memories that a turn's search finds. Turns whose channel is in view search nothing.",
      unit: "short",
      queries: [
        {
          expr: share(
            perSecond("weir_recalled_total", "kind"),
            `ignoring (kind) group_left () sum(rate(${series("weir_recall_seconds_count")}${WINDOW}))`,
          ),
          legend: "{{kind}}",
        },
      ],
    },
    {
      title: "Memories noted",
      says: "By summaries, which extract them. None for long, with summaries: see the model's summaries.",
      unit: "short",
      queries: [{ expr: growth("weir_memories_noted_total", "instance"), legend: "{{instance}}" }],
    },
  ],
};

const FAILED_CALLS = 'outcome!~"answered|aborted"';

const MODELS: Row = {
  title: "Models",
  panels: [
    {
      title: "Calls",
      says: "Each attempt, by its outcome. Aborted: a person or a newer message ended it.",
      unit: "ops",
      kind: "stacked",
      queries: [
        {
          expr: perSecond("weir_model_calls_total", "model, purpose, outcome"),
          legend: "{{model}} {{purpose}} {{outcome}}",
        },
      ],
    },
    {
      title: "Calls that fail",
      says: "Share of a model's calls. The log has the server's words (model_call, with level = debug).",
      unit: "percentunit",
      queries: [
        {
          // A model of which no call has failed has 0, and not no value.
          expr: share(
            `(${perSecond("weir_model_calls_total", "model", FAILED_CALLS)} or 0 * ${perSecond("weir_model_calls_total", "model")})`,
            perSecond("weir_model_calls_total", "model"),
          ),
          legend: "{{model}}",
        },
      ],
    },
    {
      title: "Retries and failed tools",
      says: "Attempts for turns after a failed one; calls of tools that failed.",
      unit: "short",
      queries: [
        { expr: growth("weir_model_retries_total", "instance"), legend: "retries {{instance}}" },
        { expr: growth("weir_tool_failures_total", "instance"), legend: "failed tools {{instance}}" },
      ],
    },
    {
      title: "Time of calls",
      says: "Whole calls, to the last token.",
      unit: "s",
      queries: quantiles("weir_model_call_seconds", "purpose"),
    },
    {
      title: "Tokens",
      says: "In contains cached and written: tokens that the provider read from its cache, and wrote to it.",
      unit: "short",
      queries: [{ expr: perSecond("weir_model_tokens_total", "kind"), legend: "{{kind}} per second" }],
    },
    {
      title: "Cache hits",
      says: "Share of the input tokens that came from the provider's cache. A fall: prompts changed, or channels rest longer than the cache.",
      unit: "percentunit",
      queries: [
        {
          expr: share(
            perSecond("weir_model_tokens_total", "model", 'kind="cached"'),
            perSecond("weir_model_tokens_total", "model", 'kind="in"'),
          ),
          legend: "{{model}}",
        },
      ],
    },
    {
      title: "Cost per hour",
      says: "Of models with a known price.",
      unit: "currencyUSD",
      kind: "stacked",
      queries: [
        {
          expr: `3600 * ${perSecond("weir_model_cost_dollars_total", "model, purpose")}`,
          legend: "{{model}} {{purpose}}",
        },
      ],
    },
  ],
};

const PROCESS: Row = {
  title: "Process, database, cluster",
  panels: [
    {
      title: "Event-loop lag",
      says: "The daemon has one thread: over half a second everybody waits.",
      unit: "s",
      queries: [{ expr: series("nodejs_eventloop_lag_p99_seconds"), legend: "p99 {{instance}}" }],
    },
    {
      title: "Memory and processor",
      says: "Resident memory, and seconds of processor time per second.",
      unit: "short",
      queries: [
        { expr: `${series("process_resident_memory_bytes")} / 1048576`, legend: "MB {{instance}}" },
        { expr: perSecond("process_cpu_seconds_total", "instance"), legend: "CPU {{instance}}" },
      ],
    },
    {
      title: "Connections to Postgres",
      says: "Of each daemon's pool. Waiting statements for minutes: the database is too slow.",
      unit: "short",
      queries: [
        { expr: series("weir_database_connections"), legend: "{{state}} {{instance}}" },
        { expr: series("weir_database_waiting"), legend: "waiting {{instance}}" },
      ],
    },
    {
      title: "Leases of partitions",
      says: "Partitions by daemon: together 64. No value: no cluster.",
      unit: "short",
      kind: "stacked",
      queries: [{ expr: series("weir_cluster_partitions"), legend: "{{instance}}" }],
    },
    {
      title: "Cluster",
      says: "Members as each daemon counts them, shards that it has, channels that another daemon took.",
      unit: "short",
      queries: [
        { expr: series("weir_cluster_members"), legend: "members by {{instance}}" },
        { expr: series("weir_cluster_shards"), legend: "{{platform}} shards {{instance}}" },
        { expr: growth("weir_channels_lost_total", "instance"), legend: "lost {{instance}}" },
      ],
    },
    {
      title: "Wakes between daemons",
      says: "Dropped ones are found by the home's look within seconds.",
      unit: "ops",
      queries: [
        {
          expr: `sum by (kind) (rate(${series("weir_cluster_wakes")}${WINDOW}))`,
          legend: "{{kind}}",
        },
      ],
    },
  ],
};

const ROWS: readonly Row[] = [AT_A_GLANCE, TURNS, DELIVERY, WINDOW_AND_SUMMARIES, MEMORY, MODELS, PROCESS];

const DATASOURCE = { type: "prometheus", uid: "${datasource}" };
/** The grid of Grafana has 24 columns. */
const COLUMNS = 24;
const HEIGHT = { stat: 6, states: 6, lines: 8 } as const;

export function dashboard(): string {
  let y = 0;
  let id = 0;
  const panels = ROWS.flatMap(({ title, panels: those }) => {
    const row = {
      type: "row",
      id: ++id,
      title,
      collapsed: false,
      gridPos: { x: 0, y: y++, w: COLUMNS, h: 1 },
    };
    // At a glance all stand side by side; else three do.
    const side = those.some(({ kind }) => kind === "stat") ? [8, 4, 4, 4, 4] : [8, 8, 8];
    const height = side.length > 3 ? HEIGHT.stat : HEIGHT.lines;
    const shown = those.map((panel, index) => {
      const place = index % side.length;
      const x = side.slice(0, place).reduce((all, width) => all + width, 0);
      const top = y + Math.floor(index / side.length) * height;
      return panelJson(panel, ++id, { x, y: top, w: side[place] ?? 8, h: height });
    });
    y += Math.ceil(those.length / side.length) * height;
    return [row, ...shown];
  });
  const all = {
    uid: "weir",
    title: "Weir",
    tags: ["weir"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: variables() },
    panels,
  };
  return `${JSON.stringify(all, null, 2)}\n`;
}

function variables(): object[] {
  const ofLabel = (name: string, query: string, isMulti: boolean): object => ({
    type: "query",
    name,
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: isMulti,
    includeAll: isMulti,
    ...(isMulti && { current: { text: ["All"], value: ["$__all"] } }),
  });
  return [
    { type: "datasource", name: "datasource", query: "prometheus" },
    ofLabel("job", "label_values(weir_info, job)", false),
    ofLabel("instance", 'label_values(weir_info{job="$job"}, instance)', true),
  ];
}

function panelJson({ title, says, unit, queries, kind }: Panel, id: number, gridPos: object): object {
  const defaults = kind === "states" ? stateColors() : { unit, min: 0, ...(kind !== "stat" && drawn(kind)) };
  return {
    id,
    type: kind === "stat" ? "stat" : kind === "states" ? "state-timeline" : "timeseries",
    title,
    description: says,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults, overrides: [] },
    options: kind === "stat" ? { reduceOptions: { calcs: ["lastNotNull"] } } : { tooltip: { mode: "multi" } },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      ...(kind === "stat" && { instant: true }),
    })),
  };
}

function drawn(kind: "stacked" | undefined): object {
  return kind === "stacked"
    ? { custom: { stacking: { mode: "normal" }, fillOpacity: 30 } }
    : { custom: { fillOpacity: 5 } };
}

function stateColors(): object {
  const states = { "0": ["failed", "red"], "0.5": ["degraded", "orange"], "1": ["well", "green"] } as const;
  const options = Object.fromEntries(
    Object.entries(states).map(([value, [text, color]]) => [value, { text, color }]),
  );
  return { mappings: [{ type: "value", options }] };
}
