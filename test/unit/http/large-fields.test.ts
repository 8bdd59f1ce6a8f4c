/** Each operation of the v4 contract that takes fields, with generated bodies of the greatest size. */
import t from 'tap'
import type { Endpoint, Field } from '../../../src/contracts/endpoint.ts'
import { v4Contract as records } from '../../../src/contracts/v4/index.ts'
import { describedBody, describedFields } from '../../../src/core/endpoint-names.ts'
import type { HttpContract } from '../../../src/http/contract.ts'
import { v4Contract } from '../../../src/http/v4/contract.ts'
import { defaultConfig } from '../../support/default-config.ts'
import { measureBestRun } from '../../support/event-loop.ts'

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20
/** Of the text that the client gets. */
const MAX_DETAIL = 2_000
const LENGTH = 10 * 1024 * 1024 - 1024

const contract: HttpContract = v4Contract({ catalogue: records, releases: () => ({ lowest: '4.14.7' }) })(
  () => defaultConfig,
)

const filled = (unit: string, length = LENGTH) => unit.repeat(length / unit.length)
const listOf = (unit: string, count: number) => `[${filled(`${unit},`, count * (unit.length + 1))}${unit}]`

/** JSON texts of one value. */
const values: Readonly<Record<string, string>> = {
  'one text': `"${filled('x')}"`,
  'one text of quotes': `"${filled("'")}"`,
  'one text of line ends': `"${filled('\\n')}"`,
  'a list of texts': listOf(`"${'x'.repeat(100)}"`, 90_000),
  'a list of empty texts': listOf('""', 90_000),
  'a list of numbers': listOf('1', 90_000),
  'a list of objects': listOf(`{"a":"${'x'.repeat(150)}"}`, 45_000),
  'more values than are accepted': listOf('1', 900_000),
  'a list of long texts': listOf(`"${'x'.repeat(100_000)}"`, 100),
  'an object': `{${Array.from({ length: 9_999 }, (_, at) => `"n${at}":"${'x'.repeat(900)}"`)}}`,
}

/** One operation of each set of fields. */
const operations = new Map<string, Endpoint>()
for (const endpoint of records) {
  if (describedBody(endpoint)?.kind === 'fields') operations.set(JSON.stringify(describedFields(endpoint)), endpoint)
}

async function check(endpoint: Endpoint, bytes: Buffer): Promise<string> {
  try {
    const body = await contract.parseBody(endpoint, 'application/json', bytes)
    const request = { params: {}, query: {}, body, headers: { 'content-type': 'application/json' } }
    contract.check(endpoint, request)
    return ''
  } catch (error) {
    return JSON.stringify(contract.errorOf(error).message)
  }
}

/** A value of the right type, so that the checks reach the other fields. */
function validField({ value }: Field): unknown {
  switch (value?.type) {
    case 'array':
      return []
    case 'object':
      return {}
    case 'integer':
    case 'number':
      return 100
    case 'boolean':
      return true
    default:
      return 'abcd'
  }
}

for (const endpoint of operations.values()) {
  t.test(`${endpoint.method} ${endpoint.path}`, async (t) => {
    const fields = describedFields(endpoint)
    for (const name of [...Object.keys(fields), 'unknown']) {
      const others = Object.entries(fields).flatMap(([other, field]) =>
        other === name ? [] : [`${JSON.stringify(other)}:${JSON.stringify(validField(field))}`],
      )
      for (const [what, value] of Object.entries(values)) {
        const bytes = Buffer.from(`{${[...others, `${JSON.stringify(name)}:${value}`].join(',')}}`)
        let detail = ''
        const longest = await measureBestRun(async () => {
          detail = await check(endpoint, bytes)
        }, MAX_TURN_MS)
        t.ok(longest < MAX_TURN_MS, `${name}, ${what}: ${longest.toFixed(1)} ms`)
        t.ok(detail.length < MAX_DETAIL, `${name}, ${what}: a text of ${detail.length}`)
      }
    }
  })
}
