import { median } from "../../../bench/support/figure.ts";
import type { ClusterReport } from "./cluster-report.ts";
import { lapsesOf } from "./lapses.ts";
import type { ClusterScene, FaultWindow } from "./scene.ts";
import { type Killed, type Takeover, takeoversOf } from "./takeovers.ts";
import type { ModelCall, WorldRecord } from "./world-record.ts";

/** The runner notes a fault, and it takes effect, a moment apart, ms. */
const BEFORE_MS = 100;
/** A channel may be taken up again some time after a fault, ms. */
const AFTER_MS = 1500;
/** What is answered across daemons so much later than at the home was found by the look each second, which lets a wake have a second, ms. */
const LOOK_MS = 700;
/** Where most of a daemon's partitions wait for so long for others, their leases were lost: those are made anew after five seconds, ms. */
const HOMELESS_MS = 3000;
/** Far beyond the bar of a second: a machine that is busy stays below. */
const TAKEOVER_SLOW_MS = 4500;
const EVEN_SLOW_MS = 4500;

/** Looks at what the platform, the model and Postgres have seen of a run in which everything is answered, as far as it will be. */
export async function checkCluster(scene: ClusterScene, report: ClusterReport): Promise<void> {
  const record = await scene.record();
  report.messages = scene.said.length;
  report.calls = record.calls.length;
  report.sorry = record.shown.filter(({ kind }) => kind === "notice").length;
  checkAnswers(scene, record, report);
  await checkLog(scene, record, report);
  await checkTurns(scene, report);
  await checkEpochs(scene, report);
  noteLapses(scene, report);
  checkCalls(scene, await withSettlements(scene, record), report);
  const kills = takenUp(scene, record);
  report.takeoverMs = kills.flatMap(({ takeovers }) => takeovers.map(({ ms }) => ms));
  measure(report);
  report.takenMs = await takenAfterKill(scene);
  report.channelMs = await heldAfterKill(scene, kills);
  const slowestMs = Math.round(Math.max(0, ...report.partitionMs));
  if (slowestMs > TAKEOVER_SLOW_MS)
    report.add("slow", `a partition was without a home for ${slowestMs} ms after a kill`);
  const typicalMs = Math.round(Math.max(0, ...report.takenMs.map(median)));
  if (typicalMs > HOMELESS_MS)
    report.add("homeless", `half of a killed daemon's partitions were without a home for ${typicalMs} ms`);
}

/** Each message is answered by one message of the bot's, and none of these is left half written. */
function checkAnswers({ said }: ClusterScene, { shown }: WorldRecord, report: ClusterReport): void {
  const answers = new Map<string, string[]>();
  for (const { inReplyTo, text } of shown)
    for (const id of inReplyTo) answers.set(id, [...(answers.get(id) ?? []), JSON.stringify(text)]);
  for (const { id, channel } of said) {
    const texts = answers.get(id) ?? [];
    if (texts.length === 0) report.add("lost", `${id} was never answered in ${channel}`);
    else if (texts.length > 1)
      report.add("doubled", `${id} was answered in ${channel} by ${texts.join(", and by ")}`);
  }
  for (const { channel, text, final } of shown)
    if (!final) report.add("wrong", `half an answer is left in ${channel}: ${text}`);
}

/** The log has each message once and no gap, and no channel was answered before what was said earlier there. */
async function checkLog(
  { audit, said }: ClusterScene,
  { shown }: WorldRecord,
  report: ClusterReport,
): Promise<void> {
  const gaps = await audit.rows<{ name: string }>(
    `select c.name from channels c join entries e on e.channel_id = c.id
      group by c.id, c.name having max(e.seq) <> count(*) or min(e.seq) <> 1 or max(e.seq) <> max(c.last_seq)`,
  );
  for (const { name } of gaps) report.add("wrong", `the seqs of ${name} have a gap`);
  const rows = await audit.rows<{ name: string; seq: number; message_id: string }>(
    "select c.name, e.seq, e.message_id from entries e join channels c on c.id = e.channel_id where e.kind = 'user'",
  );
  const seqs = new Map(rows.map(({ message_id: id, seq }) => [id, seq]));
  if (seqs.size < rows.length)
    report.add("doubled", `${rows.length - seqs.size} messages are in the log twice`);
  for (const { id, messageId } of said)
    if (!seqs.has(messageId)) report.add("lost", `${id} is not in the log`);
  const idOf = new Map(said.map(({ id, messageId }) => [id, messageId]));
  for (const [channel, answers] of Map.groupBy(shown, (one) => one.channel)) {
    let newest = 0;
    for (const { id, inReplyTo } of answers) {
      const of = inReplyTo.map((one) => seqs.get(idOf.get(one) ?? "") ?? 0);
      if (of.length > 0 && Math.min(...of) < newest)
        report.add(
          "wrong",
          `${channel} shows ${id}, an answer to ${inReplyTo.join()}, behind that to something newer`,
        );
      newest = Math.max(newest, ...of);
    }
  }
}

/** Turns of a channel follow one another, in what they answer and in time. */
async function checkTurns({ audit }: ClusterScene, report: ClusterReport): Promise<void> {
  const [row] = await audit.rows<{ count: number }>(
    "select count(*) as count from turns where state <> 'running'",
  );
  report.turns = row?.count ?? 0;
  const overlapping = await audit.rows<{ name: string; id: number; other: number }>(
    `select c.name, t.id, o.id as other from turns t join turns o on o.channel_id = t.channel_id and o.id > t.id
       join channels c on c.id = t.channel_id
      where o.from_seq <= t.to_seq or t.settled_at is null or o.started_at < t.settled_at`,
  );
  for (const { name, id, other } of overlapping)
    report.add("wrong", `turns ${id} and ${other} of ${name} overlap`);
  const open = await audit.rows<{ name: string; what: string }>(
    `select c.name, 'turn ' || t.id as what from turns t join channels c on c.id = t.channel_id where t.state = 'running'
      union all
     select c.name, 'delivery ' || d.id from deliveries d join channels c on c.id = d.channel_id where d.state = 'pending'`,
  );
  for (const { name, what } of open) report.add("lost", `${what} of ${name} is left open`);
}

/** Epochs only rise, a channel is taken by whoever has its partition, and nobody writes with an epoch that is over. */
async function checkEpochs({ audit }: ClusterScene, report: ClusterReport): Promise<void> {
  const fallen = await audit.rows<{ id: number; old: number; epoch: number }>(
    `select id, old, epoch from (select t.*, lag(epoch) over (partition by id order by n) as before from chaos.partition_takes t) x
      where epoch <= old or epoch <= before`,
  );
  for (const { id, old, epoch } of fallen)
    report.add("wrong", `the epoch of partition ${id} went from ${old} to ${epoch}`);
  const strangers = await audit.rows<{ id: number; owner: string; daemon: string }>(
    "select id, owner, daemon from chaos.partition_takes where owner <> daemon",
  );
  for (const { id, owner, daemon } of strangers)
    report.add("wrong", `${daemon} took partition ${id} in the name of ${owner}`);
  const stolen = await audit.rows<{ name: string; owner: string | null; daemon: string }>(
    `select c.name, t.owner, t.daemon from chaos.channel_takes t join channels c on c.id = t.channel
      where t.owner is distinct from t.daemon`,
  );
  for (const { name, owner, daemon } of stolen)
    report.add("wrong", `${daemon} took ${name}, whose partition was ${owner ?? "nobody"}'s`);
  const old = await audit.rows<{ place: string; name: string; epoch: number; newest: number }>(
    "select w.place, c.name, w.epoch, w.newest from chaos.old_writes w join channels c on c.id = w.channel",
  );
  for (const { place, name, epoch, newest } of old)
    report.add(
      "wrong",
      `${place} of ${name} were written with epoch ${epoch}, when ${newest} was the newest`,
    );
}

/** A daemon that leaves the cluster by itself begins again what it was at: a fault as those of the run are, of the machine if of none of them. */
function noteLapses({ daemons, windows }: ClusterScene, report: ClusterReport): void {
  const faults = [...windows];
  for (const { name, log } of daemons) {
    for (const { from, until, why } of lapsesOf(log)) {
      windows.push({ name: "lapse", daemon: name, from, until });
      const isExplained = faults.some(
        (fault) =>
          (fault.daemon === null || fault.daemon === name) &&
          from >= fault.from - BEFORE_MS &&
          from <= fault.until + AFTER_MS,
      );
      if (!isExplained) report.add("slow", `${name} has left the cluster, and no fault explains it: ${why}`);
    }
  }
}

/** A call with the time at which its turn was settled, ms. */
type SettledCall = ModelCall & { readonly settledAt: number };

/** The calls, each open until the turn is settled that has its messages: until then a fault may undo it. */
async function withSettlements({ audit, said }: ClusterScene, record: WorldRecord): Promise<SettledCall[]> {
  const rows = await audit.rows<{ message_id: string; at: number }>(
    `select e.message_id, (extract(epoch from t.settled_at) * 1000)::float8 as at from turns t
       join entries e on e.channel_id = t.channel_id and e.seq between t.from_seq and t.to_seq and e.kind = 'user'
      where t.settled_at is not null`,
  );
  const marks = new Map(said.map(({ id, messageId }) => [messageId, id]));
  const settled = new Map(rows.map(({ message_id: id, at }) => [marks.get(id) ?? id, at]));
  return record.calls.map((call) => {
    const [first = ""] = call.due;
    return { ...call, settledAt: Math.max(call.until ?? 0, settled.get(first) ?? 0) };
  });
}

/** What was paid twice was under way at a fault; and two calls of a channel at once have a fault in one of them. */
function checkCalls({ windows }: ClusterScene, calls: readonly SettledCall[], report: ClusterReport): void {
  const isFaulty = (call: SettledCall): boolean => windows.some((window) => meets(call, window));
  report.paidTwice = Math.max(0, calls.length - report.turns);
  report.paidTwiceAtMost = calls.filter(isFaulty).length;
  if (report.paidTwice > report.paidTwiceAtMost)
    report.add(
      "wrong",
      `${report.paidTwice} calls were paid twice, and ${report.paidTwiceAtMost} were under way at faults`,
    );
  for (const [channel, ofChannel] of Map.groupBy(calls, (call) => call.channel)) {
    const wellOnes = ofChannel.filter((call) => !isFaulty(call)).toSorted((a, b) => a.at - b.at);
    wellOnes.forEach((call, index) => {
      const before = wellOnes[index - 1];
      if (before === undefined || (before.until ?? Infinity) <= call.at) return;
      report.add(
        "wrong",
        `${before.daemon} and ${call.daemon} asked the model for ${channel} at the same time, and no fault explains it`,
      );
    });
    for (const id of repeated(wellOnes)) {
      const asked = ofChannel
        .filter(({ due }) => due.includes(id))
        .map(formatCall)
        .join("; ");
      report.add(
        "doubled",
        `the model was asked twice to answer ${id} of ${channel}, and no fault explains it: ${asked}`,
      );
    }
  }
}

function formatCall({ daemon, at, until, due }: ModelCall): string {
  const time = (ms: number | null): string =>
    ms === null ? "open" : new Date(ms).toISOString().slice(14, -1);
  return `${daemon} from ${time(at)} to ${time(until)} for ${due.join(" ")}`;
}

function repeated(calls: readonly ModelCall[]): string[] {
  const all = calls.flatMap(({ due }) => due);
  return [...new Set(all.filter((id, index) => all.indexOf(id) !== index))];
}

function meets({ at, settledAt, daemon }: SettledCall, window: FaultWindow): boolean {
  if (window.daemon !== null && window.daemon !== daemon) return false;
  return at <= window.until + AFTER_MS && settledAt >= window.from - BEFORE_MS;
}

/** What others took up at a kill. */
type Kill = Pick<Killed, "at"> & { readonly takeovers: readonly Takeover[] };

function takenUp({ killed, said }: ClusterScene, { calls }: WorldRecord): Kill[] {
  const idOf = new Map(said.map(({ id, messageId }) => [messageId, id]));
  return killed.map((one) => ({ at: one.at, takeovers: takeoversOf(one, calls, idOf) }));
}

function measure(report: ClusterReport): void {
  if (Math.max(0, ...report.takeoverMs) > TAKEOVER_SLOW_MS)
    report.add(
      "slow",
      `a channel that was due at a kill was taken up after ${Math.round(Math.max(...report.takeoverMs))} ms`,
    );
  const { homeMs, acrossMs } = report;
  if (homeMs.length > 0 && acrossMs.length > 0) {
    const lateMs = median(acrossMs) - median(homeMs);
    if (lateMs > LOOK_MS)
      report.add(
        "unwoken",
        `across daemons an answer comes ${Math.round(lateMs)} ms later: wakes do not wake`,
      );
  }
  for (const ms of report.evenMs)
    if (ms > EVEN_SLOW_MS) report.add("slow", `shares were even ${ms} ms after a daemon joined`);
}

/** From a kill until each partition that others took over was theirs. */
async function takenAfterKill({ audit, killed }: ClusterScene): Promise<number[][]> {
  const taken = killed.map(async ({ daemon, at }) =>
    audit.rows<{ ms: number }>(
      `select (extract(epoch from min(t.at)) * 1000 - $2::float8)::float8 as ms from chaos.partition_takes t
         join lateral (select owner from chaos.partition_takes b where b.id = t.id and b.at <= to_timestamp($2::float8 / 1000)
                        order by n desc limit 1) o on o.owner = $1
        where t.at > to_timestamp($2::float8 / 1000) and t.at < to_timestamp($2::float8 / 1000) + interval '10 s' group by t.id`,
      [daemon, at],
    ),
  );
  const kills = await Promise.all(taken);
  return kills.filter(({ length }) => length > 0).map((rows) => rows.map(({ ms }) => ms));
}

/** From a kill until each channel that others took up was theirs. */
async function heldAfterKill({ audit }: ClusterScene, kills: readonly Kill[]): Promise<number[]> {
  const taken = kills.map(async ({ at, takeovers }) =>
    audit.rows<{ ms: number }>(
      `select (extract(epoch from min(t.at)) * 1000 - $2::float8)::float8 as ms from chaos.channel_takes t
         join channels c on c.id = t.channel and c.name = any($1) where t.at > to_timestamp($2::float8 / 1000) group by t.channel`,
      [takeovers.map(({ channel }) => channel), at],
    ),
  );
  return (await Promise.all(taken)).flat().map(({ ms }) => ms);
}
