import t from 'tap'
import { type Profile, sharesOf } from '../../bench/profile/shares.ts'

t.test('the shares of a profile leave out idle time and the profiler itself', async (t) => {
  const frames = [
    ['(idle)', ''],
    ['(garbage collector)', ''],
    ['writeBuffer', ''],
    ['parserOnIncoming', 'node:_http_server'],
    ['observe', `file://${process.cwd()}/node_modules/@platformatic/prom-client/lib/histogram.js`],
    ['sendCommand', `file://${process.cwd()}/dist/libraries/ioredis/index.js`],
    ['dispatch', ''],
  ] as const
  const nodes = frames.map(([functionName, url], id) => ({
    id,
    callFrame: { functionName, url, lineNumber: 9, columnNumber: 0 },
  }))
  const profile: Profile = { nodes, samples: [0, 1, 2, 2, 3, 4, 5, 6], timeDeltas: [500, 5, 20, 20, 30, 20, 5, 100] }
  const { rooms, functions, samples, profiler } = sharesOf(profile)
  t.strictSame(rooms, [
    ['native: write', 0.4],
    ['node: http', 0.3],
    ['library: @platformatic/prom-client', 0.2],
    ['garbage collection', 0.05],
    ['library: ioredis', 0.05],
  ])
  t.strictSame(
    functions.map(([name]) => name),
    [
      'writeBuffer',
      'parserOnIncoming  node:_http_server:10',
      'observe  @platformatic/prom-client/lib/histogram.js:10',
      '(garbage collector)',
      'sendCommand  ioredis/index.js:10',
    ],
  )
  t.equal(samples, 6)
  t.equal(profiler, 0.5)
})

t.test('functions of a build have the names of their TypeScript source', async (t) => {
  const folder = t.testdir({
    dist: {
      'hit.js': 'function hit(){}\n//# sourceMappingURL=hit.js.map\n',
      'hit.js.map': JSON.stringify({ version: 3, sources: ['../src/http/hit.ts'], names: [], mappings: 'AAEA' }),
    },
  })
  const url = `file://${folder}/dist/hit.js`
  const nodes = [{ id: 1, callFrame: { functionName: 'hit', url, lineNumber: 0, columnNumber: 0 } }]
  const { rooms, functions } = sharesOf({ nodes, samples: [1], timeDeltas: [5] })
  t.strictSame(rooms, [['src/http', 1]])
  t.strictSame(functions, [['hit  src/http/hit.ts:3', 1]])
})
