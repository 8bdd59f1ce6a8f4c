/** Response bodies of the measured sizes: lists of agents in the format of a manager. */

/** Rows of each size. The edge refuses a page of more than 1,000 rows, as the manager does. */
export const sizes = { '1.2 kB': 2, '60 kB': 100, '600 kB': 1000 } as const

export type Size = keyof typeof sizes

/** Returns the request target of a size. */
export function pathOf(size: Size): string {
  return `/agents?limit=${sizes[size]}`
}

/** Returns the length of the body of a size. */
export function lengthOf(size: Size): number {
  return bodyOf(sizes[size]).length
}

/** All pages are of one collection: the edge may compute them from each other. */
const TOTAL_ROWS = 1000

export function bodyOf(rows: number): Buffer {
  const items = Array.from({ length: rows }, (_, id) => agent(id))
  return Buffer.from(JSON.stringify({ error: 0, data: { items, totalItems: TOTAL_ROWS } }))
}

function agent(id: number): object {
  const digest = (id * 2_654_435_761).toString(16).padStart(16, '7').slice(0, 16).repeat(2)
  return {
    id: String(id).padStart(3, '0'),
    name: `agent-${(id * 7919) % 1000}`,
    ip: `10.${id % 250}.${(id * 31) % 250}.${(id * 17) % 250}`,
    status: ['Active', 'Disconnected', 'Never connected'][id % 3],
    os: {
      arch: 'x86_64',
      name: 'Ubuntu',
      platform: 'ubuntu',
      uname: `Linux |web-${id} |4.15.0-72-generic |#81-Ubuntu SMP`,
      version: '18.04.3 LTS',
    },
    group: ['default', `web${id % 7}`],
    version: `Wazuh v3.11.${id % 5}`,
    dateAdd: `2019-12-${10 + (id % 19)} 10:${10 + (id % 49)}:00`,
    lastKeepAlive: `2020-01-${10 + (id % 19)} 12:${10 + (id % 49)}:${10 + (id % 39)}`,
    configSum: digest,
    mergedSum: digest.split('').reverse().join(''),
    registerIP: 'any',
    manager: 'master',
    node_name: `worker-${id % 2}`,
  }
}
