/** The store of the history that replicas share, and its limits. */

/** Records of one kind, by time. */
export interface HistorySeries {
  readonly name: 'intervals' | 'minutes' | 'events'
  /** Seconds after which records are removed. */
  readonly lifetime: number
  /** The oldest records are removed above this number. */
  readonly maxRecords: number
  /** Seconds that one read from Redis covers, so that none takes long. */
  readonly pageSeconds: number
}

/** The limits on the number of records hold this many replicas for the whole lifetime. With more, the history is shorter. */
const REPLICAS = 32
const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Records are needed until the range that ends with the newest one has left them behind. */
const MARGIN = 10 * MINUTE

function series(name: HistorySeries['name'], lifetime: number, maxRecords: number, pageSeconds: number): HistorySeries {
  return { name, lifetime: lifetime + MARGIN, maxRecords, pageSeconds }
}

export const SERIES = {
  /** One record of each replica per ten seconds. */
  intervals: series('intervals', HOUR, (REPLICAS * HOUR) / 10, 10 * MINUTE),
  /** One record of each replica per minute. */
  minutes: series('minutes', DAY, (REPLICAS * DAY) / MINUTE, HOUR),
  events: series('events', DAY, 1000, DAY + MARGIN),
} as const

export interface TimedRecord {
  /** Begin of the interval, or time of the event, in seconds since 1970. */
  readonly seconds: number
  readonly text: string
}

export interface HistoryStore {
  /** Adds records. A record that exists already is not added again. Resolves to false if they are not stored. */
  add(series: HistorySeries, records: readonly TimedRecord[]): Promise<boolean>
  /** Returns the texts of the records in this time, both ends included. Undefined if they cannot be read. */
  read(series: HistorySeries, from: number, to: number): Promise<readonly string[] | undefined>
}
