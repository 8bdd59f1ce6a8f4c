/**
 * The manager writes the values of ten parameters in lower case before it reads them: those of a query in all releases
 * (measured on 4.5.4), and those of a path since its later HTTP framework (measured on 4.14.7).
 */
import t from 'tap'
import type { Endpoint, Param } from '../../../src/contracts/endpoint.ts'
import { v4Contract as records } from '../../../src/contracts/v4/index.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import { v4Contract } from '../../../src/http/v4/contract.ts'
import { defaultConfig } from '../../support/default-config.ts'

type Place = 'query' | 'params'

const IN_LOWER_CASE = new Set(
  'component configuration hash requirement status type section tag level resource'.split(' '),
)
const mixed = (text: string) => [...text].map((char, at) => (at % 2 === 0 ? char.toUpperCase() : char)).join('')

/** Parameters with words, of operations that a node answers. */
const described = records.flatMap((endpoint) =>
  (['query', 'params'] as const).flatMap((place) =>
    Object.entries(endpoint[place] as Readonly<Record<string, Param>>).flatMap(([name, param]) => {
      const words = wordsOf(param).filter((word) => /[a-z]/.test(word))
      return endpoint.target.kind === 'edge' || words.length === 0 ? [] : [{ endpoint, place, name, words }]
    }),
  ),
)

function wordsOf({ value }: Param): readonly string[] {
  if (value?.type === 'array') return (value.items.type === 'string' ? value.items.words : undefined) ?? []
  return (value?.type === 'string' ? value.words : undefined) ?? []
}

/** Returns the canonical text of a value, or the text of its refusal. */
function read(release: string | undefined, endpoint: Endpoint, place: Place, name: string, text: string): string {
  const contract = v4Contract({ catalogue: records, releases: () => ({ lowest: release, highest: release }) })(
    () => defaultConfig,
  )
  const values = { params: {}, query: {}, [place]: { [name]: text } } as Record<Place, Record<string, string>>
  for (const [other, param] of Object.entries(endpoint.params))
    values.params[other] ??= wordsOf(param)[0] ?? (other === 'file_name' ? 'a.xml' : '001')
  for (const [other, param] of Object.entries(endpoint.query))
    if (param.required !== undefined) values.query[other] ??= wordsOf(param)[0] ?? '001'
  try {
    contract.check(endpoint, values)
    return values[place][name] ?? ''
  } catch (error) {
    if (error instanceof EdgeError) return error.message
    throw error
  }
}

for (const [release, pathsIgnoreCase] of [
  ['4.5.4', false],
  ['4.14.7', true],
] as const) {
  t.test(`${release}: words in another case are those in lower case, where the manager ignores case`, async (t) => {
    let compared = 0
    const faults: string[] = []
    for (const { endpoint, place, name, words } of described) {
      const ignores = IN_LOWER_CASE.has(name) && (place === 'query' || pathsIgnoreCase)
      for (const word of words) {
        const expected = read(release, endpoint, place, name, word)
        // Of another release.
        if (expected !== word) continue
        for (const text of [word.toUpperCase(), mixed(word)]) {
          if (text === word) continue
          compared += 1
          const actual = read(release, endpoint, place, name, text)
          if (ignores ? actual !== word : !actual.includes(`'${text}' is not one of`))
            faults.push(`${endpoint.method} ${endpoint.path} ${name}=${text}: ${actual.slice(0, 60)}`)
        }
      }
    }
    t.strictSame(faults, [], `${faults.length} of ${compared}`)
    t.ok(compared > 200, `${compared} values`)
  })
}

t.test('a refusal shows the value in lower case, as the manager does', async (t) => {
  const endpoint = records.find(({ method, path }) => method === 'DELETE' && path === '/agents')
  if (endpoint === undefined) return void t.fail('no DELETE /agents')
  t.match(read('4.5.4', endpoint, 'query', 'status', 'Never connected'), /'never connected' is not one of/)
})

t.test('texts without words too, but not those of operations of the edge', async (t) => {
  const find = (at: string) => records.find(({ method, path }) => `${method} ${path}` === at) as Endpoint
  t.equal(read('4.5.4', find('GET /manager/logs'), 'query', 'tag', 'Wazuh-Remoted'), 'wazuh-remoted')
  t.equal(read('4.5.4', find('DELETE /cache'), 'query', 'tag', 'file:etc/Rules.xml'), 'file:etc/Rules.xml')
})

t.test('while the release is not known, values of paths in another case are taken', async (t) => {
  const endpoint = records.find(({ path }) => path === '/rules/requirement/:requirement') as Endpoint
  t.equal(read(undefined, endpoint, 'params', 'requirement', 'PCI_DSS'), 'pci_dss')
})
