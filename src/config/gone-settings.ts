/**
 * Settings of earlier releases. A configuration with one of them is refused, and the fault names what to use instead. The
 * table: path of a setting, or of a group for all its members → what to use instead, as an imperative.
 */
import goneSettings from './gone-settings.json' with { type: 'json' }

/** Returns the fault of the first setting of the table that `matches`; `undefined`: there is none. */
export function describeGone(matches: (name: string) => boolean): string | undefined {
  const row = Object.entries(goneSettings).find(([name]) => matches(name))
  return row && `is gone; ${row[1]}`
}
