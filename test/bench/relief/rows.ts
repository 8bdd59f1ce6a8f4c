/** The rows of `npm run bench:relief`: who asks, which fault strikes meanwhile, and what must hold. */
import type { Party } from './clients.ts'

/** What fails, in seconds after the begin of the measured time. */
export interface Incident {
  readonly what: 'nodes refuse' | 'nodes hang' | 'Redis stalls'
  readonly from: number
  readonly until: number
}

export interface ReliefRow {
  readonly name: string
  readonly parties: readonly Party[]
  readonly incidents?: readonly Incident[]
  /** Settings of the cache besides the defaults. */
  readonly cache?: object
  /** Seconds of the measured time. Absent: those of the option. */
  readonly seconds?: number
  /** The least part of interactive answers within a second. Absent: the row is printed only. */
  readonly withinSecond?: number
  /** The least part of answers without a fault. */
  readonly answered?: number
  /** One of these texts is in `Cache-Status` of each answer of the incident that is older than its lifetime. */
  readonly marked?: readonly string[]
  /** Milliseconds: the slowest answer to a read that is served stale while nodes fail. */
  readonly slowestStored?: number
  /** Milliseconds. */
  readonly median?: number
  readonly p99?: number
  /** Seconds until the median is normal after the last incident or burst. */
  readonly normalAfter?: number
  /** The greatest part of the time of all answers that is not that of fetches for which they waited. */
  readonly besidesFetches?: number
}

const dashboards = (clients: number): Party => ({ kind: 'dashboard', clients })
const bulk = (clients: number, user: string): Party => ({ kind: 'bulk', clients, user })

/** `outage`: seconds that the outage lasts, and a fifth of it that Redis is away too. */
export function reliefRows(outage: number): readonly ReliefRow[] {
  return [
    { name: '10 dashboards', parties: [dashboards(10)], besidesFetches: 0.1 },
    { name: '100 dashboards', parties: [dashboards(100)], withinSecond: 0.994 },
    { name: '1,000 dashboards', parties: [dashboards(1000)], withinSecond: 0.994, median: 5, p99: 1000 },
    ...[20, 100].flatMap((people) =>
      [12, 240].flatMap((copies) =>
        (['browser', 'writer'] as const).map((user) => ({
          name: `${people} dashboards, ${copies} bulk clients of ${user === 'browser' ? 'the same' : 'another'} user`,
          parties: [dashboards(people), bulk(copies, user)],
          withinSecond: copies === 240 ? 0.99 : 0.994,
        })),
      ),
    ),
    {
      name: '20 dashboards, 10 impatient scripts',
      parties: [dashboards(20), { kind: 'impatient', clients: 10, user: 'writer' }],
      withinSecond: 0.994,
    },
    {
      name: '20 dashboards, 200 for 10 s',
      parties: [dashboards(20), { kind: 'dashboard', clients: 200, from: 10, until: 20 }],
      seconds: 40,
      normalAfter: 2,
    },
    {
      name: '20 dashboards, all nodes hang for 40 s',
      parties: [dashboards(20)],
      incidents: [{ what: 'nodes hang', from: 10, until: 50 }],
      seconds: 70,
      slowestStored: 2000,
    },
    {
      name: `20 dashboards, all nodes away for ${outage} s with cache.outage, then Redis too`,
      parties: [dashboards(20)],
      incidents: [
        { what: 'nodes refuse', from: 10, until: 10 + outage },
        { what: 'Redis stalls', from: 10 + 0.8 * outage, until: 10 + outage },
      ],
      cache: { outage: '8h', withoutRedis: 'stale' },
      seconds: outage + 40,
      answered: 0.99,
      marked: ['detail=outage', 'detail=without-redis'],
      normalAfter: 10,
    },
    ...(['call', 'stale'] as const).map((withoutRedis) => ({
      name: `100 dashboards, Redis stalls for 60 s, cache.withoutRedis: ${withoutRedis}`,
      parties: [dashboards(100)],
      incidents: [{ what: 'Redis stalls', from: 10, until: 70 } as const],
      cache: { withoutRedis },
      seconds: 90,
      ...(withoutRedis === 'stale' && { withinSecond: 0.99, answered: 1 }),
    })),
  ]
}
