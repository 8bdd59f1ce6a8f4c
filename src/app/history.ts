/** Builds the history of the console from the events of the edge. */
import { isDeepStrictEqual } from 'node:util'
import { type ConsoleHistory, createHistory } from '../admin/console/history.ts'
import type { Traffic } from '../admin/console/traffic.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { InvalidationCause } from '../core/events.ts'
import type { RedisReplica } from '../redis/replica.ts'
import { createSharedHistory } from '../redis/shared-history.ts'
import type { EdgeEvents } from '../telemetry/events.ts'

interface HistoryParts {
  /** Name of this replica. */
  readonly name: string
  readonly events: Pick<EdgeEvents, 'on'>
  readonly traffic: Traffic
  /** Absent: replicas share nothing. */
  readonly replica: RedisReplica | undefined
}

/** What a purge removed, for the event in the charts. Absent: the cause is no purge. */
const PURGES: Readonly<Partial<Record<InvalidationCause, string>>> = {
  purgeAll: 'everything',
  purgeGroup: 'a group',
  purgeEndpoint: 'an endpoint',
  purgeTag: 'a tag',
  purgeKey: 'entries by key',
  softPurge: 'marked as stale',
}

export function buildHistory(settings: ReloadableConfig, parts: HistoryParts): ConsoleHistory {
  const { name, events, traffic, replica } = parts
  const history = createHistory({ name, traffic, store: replica && createSharedHistory(replica) })
  events.on({
    ejection: (node) => history.recordEvent({ kind: 'ejection', text: node }),
    cache: (event) => {
      const text = event.kind === 'invalidated' ? PURGES[event.cause] : undefined
      if (text !== undefined) history.recordEvent({ kind: 'purge', text })
    },
  })
  settings.onReload((next) => {
    const isChanged = !isDeepStrictEqual(next, settings.current())
    return isChanged ? () => history.recordEvent({ kind: 'reload' }) : () => undefined
  })
  return history
}
