/** The simulated cluster has the calls and parameters of the release that it is started as. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { callsOf } from '../../../packages/simulator/src/v4/calls/index.ts'
import { startV4 } from '../../../packages/simulator/test/v4/ask.ts'
import {
  SIMULATED_OPERATIONS,
  SIMULATED_OPERATIONS_OF_5,
  simulatedOperations,
  simulatedOperationsOf5,
} from '../../support/documents/simulated-operations.ts'
import { DESCRIBED, type Operation, operationsOf, operationsOfRelease5 } from '../v4/v4-contract.ts'

const COMMON = ['pretty', 'wait_for_complete'] as const
const nameOf = ({ method, path }: { readonly method: string; readonly path: string }) =>
  `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`

t.test('the simulated cluster accepts what "npm run docs:reference" writes from the facts', async (t) => {
  t.equal(readFileSync(SIMULATED_OPERATIONS, 'utf8'), simulatedOperations(), 'run "npm run docs:reference"')
  t.equal(readFileSync(SIMULATED_OPERATIONS_OF_5, 'utf8'), simulatedOperationsOf5(), 'run "npm run docs:reference"')
})

const releases: readonly (readonly [release: string, operations: readonly Operation[]])[] = [
  ...DESCRIBED.map((minor) => [`4.${minor}`, operationsOf(minor)] as const),
  ['5.0', operationsOfRelease5()],
]
for (const [release, operations] of releases) {
  t.test(`calls of release ${release}`, async (t) => {
    const described = new Map(operations.map((operation) => [nameOf(operation), operation]))
    const simulated = callsOf(`${release}.0`)
    for (const call of simulated) {
      const operation = described.get(nameOf(call))
      if (operation === undefined) {
        t.fail(`${nameOf(call)} is not described: add it to test/contract/data/v4-endpoints.yaml`)
        continue
      }
      const common = COMMON.filter((name) => !call.without.includes(name))
      t.same([...Object.keys(call.query), ...common].sort(), operation.query.toSorted(), nameOf(call))
      const required = Object.entries(call.query).filter(([, { required }]) => required)
      t.same(
        required.map(([name]) => name),
        operation.required,
        `required by ${nameOf(call)}`,
      )
    }
    const names = new Set(simulated.map(nameOf))
    const missing = [...described.keys()].filter((name) => !names.has(name))
    t.same(missing, [], 'the simulated release has every described call: add it to packages/simulator/src/v4/calls')
  })
}

t.test(
  'a cluster of release 4.9 has one path for files of groups, and 404 for those of earlier releases',
  async (t) => {
    const { ask } = await startV4(t, { agents: 1, version: '4.9.0' })
    const path = '/groups/default/files/agent.conf'
    t.equal((await ask(`GET ${path}/json`)).status, 404)
    const parsed = await ask(`GET ${path}`)
    t.equal(parsed.status, 200)
    t.type(parsed.json?.data?.total_affected_items, 'number')
    const raw = await ask(`GET ${path}?raw=true`)
    t.match(raw.text, /<agent_config/)
    t.equal((await ask('GET /')).json?.data?.api_version, '4.9.0')
  },
)
