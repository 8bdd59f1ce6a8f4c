/** The history of the console: rates and events over the last minutes to hours, of one replica or the sum of all. */
import { randomUUID } from 'node:crypto'
import { HistoryColumns, type HistorySources } from './history-columns.ts'
import { createRecorder, type Recorder } from './history-recorder.ts'
import { decodeEvent, type HistoryStore, SERIES } from './history-records.ts'
import type { History, HistoryEvent, HistoryQuery, Range } from './history-types.ts'
import { shortestRange, windowOfRange, windowOfTime } from './history-windows.ts'
import type { Traffic } from './traffic.ts'

export interface HistoryOptions {
  /** Name of this replica. */
  readonly name: string
  readonly traffic: Pick<Traffic, 'interval'>
  /** Absent: no Redis is configured. */
  readonly store?: HistoryStore | undefined
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

export interface ConsoleHistory extends Pick<Recorder, 'update' | 'recordEvent' | 'listeners'> {
  /** Returns the sum of all replicas, or one replica by its name. Never rejects because of Redis. */
  read(query: HistoryQuery): Promise<History>
  /** Records until now, and ends. */
  close(): Promise<void>
}

/** How often this process looks whether an interval has ended. */
const UPDATE_INTERVAL_MS = 1000
const MAX_NAME_CHARS = 200
const MAX_EVENTS = 200

export function createHistory({ traffic, store, now = Date.now, ...options }: HistoryOptions): ConsoleHistory {
  const name = options.name.slice(0, MAX_NAME_CHARS)
  const run = randomUUID().slice(0, 8)
  const recorder = createRecorder({ name, run, traffic, store, now })
  const timer = setInterval(() => void recorder.update(), UPDATE_INTERVAL_MS)
  timer.unref()
  const sources = { name, run, store, recorder }
  const columns = new HistoryColumns(sources)

  const fittingRange = async (replica: string | undefined): Promise<Range> => {
    const { perSecond } = (await columns.read(windowOfRange('1h', now()), replica)).rates
    const first = perSecond.findIndex((rate) => rate !== null)
    return shortestRange(first === -1 ? 0 : perSecond.length - first)
  }

  return {
    update: recorder.update,
    recordEvent: recorder.recordEvent,
    listeners: recorder.listeners,
    read: async ({ range, from, to, replica }) => {
      const shownRange = from === undefined ? (range ?? (await fittingRange(replica))) : undefined
      const window = shownRange === undefined ? windowOfTime(from ?? 0, to, now()) : windowOfRange(shownRange, now())
      const { source, names, replica: shown, rates } = await columns.read(window, replica)
      const { intervalSeconds: seconds, end, points } = window
      const begin = (end - points) * seconds
      return {
        ...(shownRange !== undefined && { range: shownRange }),
        interval: seconds * 1000,
        at: Array.from({ length: points }, (_, index) => begin + (index + 1) * seconds),
        ...rates,
        ...(shown !== undefined && { replica: shown }),
        replicas: names,
        self: name,
        source,
        events: await readEvents(sources, begin, to ?? now() / 1000),
      }
    },
    close: () => {
      clearInterval(timer)
      return recorder.close()
    },
  }
}

async function readEvents({ store, recorder, run }: HistorySources, from: number, to: number): Promise<HistoryEvent[]> {
  const shared = (await store?.read(SERIES.events, from, to)) ?? []
  const decode = (texts: readonly string[]) => texts.flatMap((text) => decodeEvent(text) ?? [])
  const others = decode(shared).filter((event) => event.run !== run)
  return [...others, ...decode(recorder.own(SERIES.events, from, to))]
    .filter(({ at }) => at >= from * 1000 && at <= to * 1000)
    .sort((a, b) => a.at - b.at)
    .slice(-MAX_EVENTS)
    .map(({ run: _, ...event }) => event)
}
