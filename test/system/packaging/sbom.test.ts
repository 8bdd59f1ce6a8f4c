/** The bill of materials of the packages, compared with package-lock.json and with what the bundles contain. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import t from 'tap'

interface Component {
  readonly purl: string
  readonly licenses?: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[]
}

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const print = (...args: string[]): string =>
  execFileSync(process.execPath, ['packaging/sbom.mjs', ...args], {
    encoding: 'utf8',
    env: { ...process.env, SOURCE_DATE_EPOCH: '1700000000' },
  })
const text = print()
const bom = JSON.parse(text)
const components: readonly Component[] = bom.components
/** `name@version: licence`, one line each. */
const listed = components.map(({ purl, licenses: [first] = [] }) => {
  const name = decodeURIComponent(purl.replace('pkg:npm/', ''))
  return `${name}: ${first?.license?.id ?? first?.expression}`
})

t.test('it is valid CycloneDX 1.6, and a planted fault is found', async (t) => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)
  t.equal(await validator.validate(text), null)
  const planted = text.replace('"id": "MIT"', '"id": "no such licence"')
  t.not(await validator.validate(planted), null)
})

/** What only the build of a package needs. */
const BUILDING = new Set(['vite', 'rolldown', 'fastify', '@fastify/swagger'])

t.test('it lists each installed package of production and each bundled one, once, with its licence', async (t) => {
  const expected = new Set<string>()
  for (const [path, { version, license, dev, link }] of Object.entries<Record<string, string>>(
    read('package-lock.json').packages,
  )) {
    if (!path.startsWith('node_modules/') || dev || link || !existsSync(path)) continue
    expected.add(`${path.replace(/^.*node_modules\//, '')}@${version}: ${license}`)
  }
  // By the licences that the bundles are installed with, and by the packages that the sources of the bundles need.
  for (const bundle of ['console', 'mcp', 'reference']) {
    const titles = readFileSync(`dist/${bundle}/LICENSES.txt`, 'utf8').matchAll(/^(\S+) ([\d.]+) \((.+)\)\n\n/gm)
    const names = [...titles].map(([, name, version, license]) => {
      expected.add(`${name}@${version}: ${license}`)
      return name
    })
    const needed = read(`packages/${bundle}/package.json`).devDependencies
    t.strictSame(
      Object.keys(needed).filter((name) => !names.includes(name) && !BUILDING.has(name)),
      [],
      `licences in dist/${bundle}`,
    )
  }
  t.ok(expected.size > 100)
  t.strictSame([...listed].sort(), [...expected].sort())
})

t.test('every dependency that it names is a component, and the program needs each component', async (t) => {
  const graph = new Map<string, string[]>(
    bom.dependencies.map((each: { ref: string; dependsOn: string[] }) => [each.ref, each.dependsOn]),
  )
  const reached = new Set<string>()
  const visit = (ref: string): void => {
    if (reached.has(ref)) return
    reached.add(ref)
    for (const each of graph.get(ref) ?? []) visit(each)
  }
  const root = bom.metadata.component['bom-ref']
  visit(root)
  reached.delete(root)
  const known = components.map(({ purl }) => purl)
  t.strictSame(
    [...reached].filter((ref) => !known.includes(ref)),
    [],
  )
  // npm also installs what only the optional packages of other platforms and packages for development need.
  const { packages } = read('package-lock.json')
  const unused = known.filter((ref) => !reached.has(ref)).map((ref) => ref.replace(/^pkg:npm\/(.+)@.*/, '$1'))
  t.strictSame(
    unused.filter((name) => !packages[`node_modules/${decodeURIComponent(name)}`]?.devOptional),
    [],
  )
})

t.test('it names the release, the commit and the time of the sources', async (t) => {
  t.match(bom.metadata, { timestamp: '2023-11-14T22:13:20.000Z', component: { version: read('package.json').version } })
  t.strictSame(bom.metadata.component.properties, [
    { name: 'manager-edge:commit', value: readFileSync('dist/commit', 'utf8').trim() },
  ])
  t.equal(print(), text, 'the same sources give the same bytes')
})
