/** The edge's own cache, under the paths of the manager's. */
import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { objectOf } from './schemas/answers.ts'
import { filter } from './schemas/params.ts'

const section = 'Cache'
const index = objectOf('cache index {all, groups}')
const reading = { section, permission: 'cache:read', keep: { never: 'speaks of the cache itself' } } as const
const purging = {
  section,
  permission: 'cache:purge',
  answer: index,
  makesStale: [],
  staleNothing: 'drops what is kept; no data changes',
} as const

export const cache: readonly Endpoint[] = [
  read({
    path: '/cache',
    summary: 'Cache index',
    ...reading,
    target: { kind: 'edge', operation: 'cacheIndex' },
    answer: index,
  }),
  write('DELETE', {
    path: '/cache',
    summary: 'Clear the cache',
    ...purging,
    target: { kind: 'edge', operation: 'cacheClear' },
  }),
  write('DELETE', {
    path: '/cache/:group',
    summary: 'Clear one group of the cache',
    ...purging,
    params: { group: { ...filter('alphanumeric', 'cache group'), note: 'an unknown group has no effect' } },
    target: { kind: 'edge', operation: 'cacheClearGroup' },
  }),
  read({
    path: '/cache/config',
    summary: 'Cache configuration',
    ...reading,
    target: { kind: 'edge', operation: 'cacheConfig' },
    answer: objectOf('cache configuration'),
  }),
]
