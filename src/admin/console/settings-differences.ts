/** Notices that another replica was given other settings, users or keys, by the digests in the reports of replicas. */
import { Type } from 'typebox'
import type { SettingDigests } from '../../core/settings.ts'
import { validatorOf } from '../validation.ts'

export interface SettingDifference {
  readonly setting: string
  /** The names of the replicas that were given something else than this one. */
  readonly replicas: readonly string[]
}

export interface SettingsComparison {
  /** Part of the report of this replica. */
  report(): unknown
  /** Compares the reports of the others; `undefined` if Redis is unreachable. */
  offer(reports: readonly unknown[] | undefined): void
  differences(): readonly SettingDifference[]
}

/** A change reaches the files of all replicas one after another, and each of them reports every two seconds. */
const MIN_AGE_MS = 10_000

const text = Type.String({ maxLength: 300 })
const isReport = validatorOf(
  Type.Object({ replica: text, digests: Type.Record(Type.String({ maxLength: 100 }), text, { maxProperties: 200 }) }),
)
interface Report {
  readonly replica: string
  readonly digests: SettingDigests
}

/** `now`: monotonic milliseconds. */
export function compareSettings(
  replica: string,
  digests: () => SettingDigests,
  now: () => number = () => performance.now(),
): SettingsComparison {
  /** Setting → since when it differs, and where. */
  let found = new Map<string, SettingDifference & { readonly since: number }>()
  return {
    report: (): Report => ({ replica, digests: digests() }),
    offer: (reports) => {
      const own = digests()
      const others = (reports ?? []).filter((report): report is Report => isReport(report))
      const at = now()
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
    differences: () => [...found.values()].filter(({ since }) => now() - since >= MIN_AGE_MS),
  }
}
