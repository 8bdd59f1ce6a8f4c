/**
 * The recordings of release 5.0 through a whole edge, in front of the simulated cluster: users of the manager get what they
 * get from the node, with the differences of the simulated node and those below.
 */
import t from 'tap'
import { assertExplained, type Reason } from '../../../packages/simulator/test/v4/recorded/differences.ts'
import { reasonsOf5, release5 } from '../../../packages/simulator/test/v4/recorded/release-5.ts'
import { replay } from '../../../packages/simulator/test/v4/recorded/replay.ts'
import { PASSWORD } from '../../../packages/simulator/test/v4/recorded/world.ts'
import { startEdge } from '../../support/edge.ts'

// Busy machines need longer than tap grants.
// Busy cores need minutes. The suite ends a file that has no result for ten.
t.setTimeout(0)

const reasons: readonly Reason[] = [
  {
    why: 'credentials that cannot be decoded are wrong ones',
    operations: /^POST \/security\/user\/authenticate$/,
    texts: /^(?:status: 500 != 401|type: "text\/plain"|outcome: undefined)/,
  },
  {
    why: 'the title says since when an operation is gone, and what replaces it',
    operations: /^(?:GET|PUT) /,
    texts: /gone since release 5\.0/,
  },
  {
    why: 'a search of more than 1,000 bytes stops a node of releases 4 (cluster.guards)',
    operations: /^GET \/agents$/,
    requests: /\?search=x{1000}/,
  },
]

t.test('users of the manager get what the simulated node answers', async (t) => {
  const replayed = await replay({
    ...release5,
    front: async ({ nodes }) => {
      const edge = await startEdge({
        nodes: nodes.slice(0, 1),
        password: PASSWORD,
        settings: {
          listen: { contract: 'v4', secondPort: 0 },
          cluster: {
            layout: 'v4',
            limits: { perMinute: 0 },
            credentials: { mode: 'passthrough', username: null, password: null },
          },
          cache: { enabled: false },
          access: {
            users: null,
            roles: { wazuh: ['administrator'], reader1: ['administrator'], probe0: ['administrator'] },
            limits: { requestsPerSecond: 100_000, failedLogins: 1000 },
          },
        },
      })
      t.teardown(() => edge.close())
      return edge.url
    },
  })
  assertExplained(t, replayed, [...reasonsOf5, ...reasons], MIN_AGREEING)
})

const MIN_AGREEING = 699
