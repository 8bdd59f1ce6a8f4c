/** Does something after some milliseconds, at once without any. The process need not live until then. */
export function later(ms: number | undefined, act: () => void): void {
  if (ms === undefined || ms === 0) act()
  else if (Number.isFinite(ms)) setTimeout(act, ms).unref()
}
