/** Errors of values are those of the release: the later framework prints the schema of each. The texts were recorded. */
import t from 'tap'
import { v4Contract as records } from '../../../../src/contracts/v4/index.ts'
import type { EdgeError } from '../../../../src/core/errors.ts'
import { v4Contract } from '../../../../src/http/v4/contract.ts'
import { defaultConfig } from '../../../support/default-config.ts'

const endpoint = records.find(({ method, path }) => method === 'GET' && path === '/agents')

const INTEGER =
  "Failed validating 'type' in schema: {'default': 0, 'format': 'int32', 'minimum': 0, 'type': 'integer'}."
const BOOLEAN = "Failed validating 'type' in schema: {'default': False, 'type': 'boolean'}."
const AGENT = "{'description': 'Agent ID', 'format': 'numbers', 'minLength': 3, 'type': 'string'"
const IDS = "'x1' is too short. Failed validating 'minLength' in schema['items']: "

for (const [name, value, earlier, later] of [
  [
    'offset',
    'x',
    "Wrong type, expected 'integer' for query parameter 'offset'",
    `'x' is not of type 'integer'. ${INTEGER} On instance: 'x'`,
  ],
  [
    'distinct',
    'yes',
    "Wrong type, expected 'boolean' for query parameter 'distinct'",
    `'yes' is not of type 'boolean'. ${BOOLEAN} On instance: 'yes'`,
  ],
  ['offset', '', undefined, `'' is not of type 'integer'. ${INTEGER} On instance: ''`],
  [
    'agents_list',
    'x1',
    `${IDS}${AGENT}, 'x-scope': ['', '#/components/parameters/agents_list']}. On instance[0]: 'x1'`,
    `${IDS}${AGENT}}. On instance[0]: 'x1'`,
  ],
] as const) {
  t.test(`${name}=${value}`, async (t) => {
    for (const [release, expected] of [
      ['4.7.5', earlier],
      ['4.14.7', later],
      ['5.0.0', later],
    ] as const) {
      if (endpoint === undefined || expected === undefined) continue
      const contract = v4Contract({ catalogue: records, releases: () => ({ lowest: release }) })(() => defaultConfig)
      try {
        contract.check(endpoint, { params: {}, query: { [name]: value } })
        t.fail('accepted')
      } catch (error) {
        t.equal((error as EdgeError).message.replace(/^.*?: (?=['W])/, ''), expected, release)
      }
    }
  })
}
