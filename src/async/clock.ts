/**
 * Milliseconds since 1970 by a clock that does not jump: for durations. What people and models read as a time comes
 * from the injected `now`, which a replay sets to the time of its recording.
 */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}
