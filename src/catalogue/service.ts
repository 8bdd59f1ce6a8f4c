/** What clients ask before anything else, beyond the seed: who is there, and in which version. */
import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import { objectOf, textOf } from './schemas/answers.ts'
import { keepIn } from './schemas/tags.ts'
import { anyNode, masterItself } from './schemas/targets.ts'

const common = { section: 'Service', permission: 'signedIn', beyondSeed: true } as const

export const service: readonly Endpoint[] = [
  read({
    path: '/',
    summary: 'Welcome',
    ...common,
    target: masterItself,
    response: objectOf('{msg, api_version, hostname, timestamp}'),
    cache: { never: 'holds the time at which it was answered' },
  }),
  read({
    path: '/version',
    summary: 'Version of the API',
    ...common,
    target: anyNode,
    response: textOf('v<major.minor.patch>'),
    cache: keepIn('manager', 'cluster'),
    priority: 'health',
  }),
]
