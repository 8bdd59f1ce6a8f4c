/** Settings that replicas must share, compared with those that the others report. */

import { Type } from 'typebox'
import type { SettingDigests } from '../core/settings.ts'
import { type Exchanged, text } from './replica-report.ts'
import { REPORT_INTERVAL_MS } from './replicas.ts'
import { validatorOf } from './validation.ts'

export interface SettingDifference {
  readonly setting: string
  /** The names of the replicas that were given something else than this one. */
  readonly replicas: readonly string[]
}

export interface SettingsComparison extends Exchanged {
  differences(): readonly SettingDifference[]
}

/** Reports with a difference: a change reaches the files of all replicas one after another. */
const MIN_REPORTS_OF_DIFFERENCE = 5

const isSettingsReport = validatorOf(
  Type.Object({ replica: text, digests: Type.Record(Type.String({ maxLength: 100 }), text, { maxProperties: 200 }) }),
)

/**
 * Notices that another replica was given other settings, users or keys, by the digests in the reports of replicas.
 * `interval`: milliseconds between two reports.
 */
export function compareSettings(
  replica: string,
  digests: () => SettingDigests,
  interval: number = REPORT_INTERVAL_MS,
): SettingsComparison {
  const minAge = MIN_REPORTS_OF_DIFFERENCE * interval
  /** Setting → since when it differs, and where. */
  let found = new Map<string, SettingDifference & { readonly since: number }>()
  return {
    report: () => ({ replica, digests: digests() }),
    offer: (reports) => {
      const own = digests()
      const others = (reports ?? []).filter(isSettingsReport)
      const at = performance.now()
      const next: typeof found = new Map()
      for (const [setting, digest] of Object.entries(own)) {
        // A replica of another version may not have the setting.
        const replicas = others
          .filter(({ digests }) => (digests[setting] ?? digest) !== digest)
          .map((each) => each.replica)
        if (replicas.length > 0) next.set(setting, { setting, replicas, since: found.get(setting)?.since ?? at })
      }
      found = next
    },
    differences: () => [...found.values()].filter(({ since }) => performance.now() - since >= minAge),
  }
}
