import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'

import { commands } from '../../../src/cli/commands.ts'
import goneSettings from '../../../src/config/gone-settings.json' with { type: 'json' }
import { loadConfig } from '../../../src/config/index.ts'
import { schema } from '../../../src/config/schema.ts'
import { listLeaves } from '../../../src/config/tree.ts'
import { builtInRoles } from '../../../src/core/access.ts'
import { type ErrorDefinition, errorTable } from '../../../src/core/errors.ts'
import { documents, textOf } from '../../support/documents/list.ts'
import { METRICS_DOCUMENT, metricsMissingIn } from '../../support/documents/metrics.ts'

const all = documents()
/** Documents that describe the product as it is now. */
const current = all.filter(({ path }) => path !== 'CHANGELOG.md' && !path.startsWith('docs/decisions/'))
const sources = ['src', 'packages']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
  .filter((name) => statSync(name).isFile())
  .map((name) => readFileSync(name, 'utf8'))
  .join('\n')
const settings = new Set(listLeaves(schema).flatMap(({ path }) => path.map((_, at) => path.slice(0, at + 1).join('.'))))
const SECTIONS = [...new Set(listLeaves(schema).map(({ path }) => path[0]))].join('|')

t.test(
  'troubleshooting has a row for each failure that an operator can meet, with the message of the code',
  async (t) => {
    const rows = Object.entries<ErrorDefinition>(errorTable)
    const written = [...textOf('docs/troubleshooting.md').matchAll(/^\| [^|]+ \| (9\d\d) ([^|]+) \| ([^|]+) \|$/gm)]
    for (const [, code = '', message] of written) t.equal(errorTable[Number(code) as 900]?.message, message, code)
    const failing = rows.filter(([code, { status }]) => Number(code) >= 900 && (status >= 500 || status === 429))
    const codes = written.map(([, code = '']) => code)
    t.equal(new Set(codes).size, codes.length, 'each code once')
    t.strictSame(
      failing.map(([code]) => code).filter((code) => !codes.includes(code)),
      [],
      'docs/troubleshooting.md has a row for each code',
    )
  },
)

t.test('every setting that a document names exists', async (t) => {
  const pattern = new RegExp(`\`(?:${SECTIONS})\\.[a-zA-Z]+(?:\\.[a-zA-Z]+)*(?=[\`:])`, 'g')
  let count = 0
  for (const { path, text } of current) {
    for (const [match] of text.matchAll(pattern)) {
      const name = match.slice(1)
      if (/\.(?:md|ts|yaml|sock)$/.test(name)) continue
      count++
      t.ok(settings.has(name), `${path}: ${name}`)
    }
  }
  t.ok(count > 100, 'settings were found')
})

t.test('a setting that is gone is in the changelog, and a renamed one is explained with its new name', async (t) => {
  const changelog = textOf('CHANGELOG.md')
  for (const name of Object.keys(goneSettings)) t.ok(changelog.includes(`\`${name}\``), `CHANGELOG.md: ${name}`)
  const renamed = [...changelog.matchAll(/^\| setting \| `([^`]+)` \| `([^`]+)` \|$/gm)]
  t.ok(renamed.length > 15)
  for (const [, from = '', to = ''] of renamed) {
    const [name, instead] = Object.entries(goneSettings).find(([name]) => `${from}.`.startsWith(`${name}.`)) ?? []
    const goneSince = Object.entries(goneSettings).find(([name]) => name === to)
    // The sentence of a group lists the names of its members.
    const expected = goneSince?.[1] ?? (name === from ? to : to.slice(to.lastIndexOf('.') + 1))
    t.ok(instead?.includes(expected), `${from}: ${instead}`)
  }
})

t.test('every setting that an example configuration or a remedy names exists', async (t) => {
  const pattern = new RegExp(`\\b(?:${SECTIONS})\\.[a-z][a-zA-Z]+(?:\\.[a-z][a-zA-Z]+)*`, 'g')
  const files = readdirSync('config', { recursive: true, encoding: 'utf8' })
    .map((name) => join('config', name))
    .filter((name) => statSync(name).isFile())
  const texts = [...files, 'src/core/errors.ts'].map((file) => ({
    file,
    text: textOf(file),
  }))
  for (const { file, text } of texts) {
    for (const [name] of text.matchAll(pattern)) {
      if (!/\.(?:md|jsonl)$/.test(name)) t.ok(settings.has(name), `${file}: ${name}`)
    }
  }
})

t.test('every script and command that a document names exists', async (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  // The last two describe the program itself and are added to the program.
  const known = [...(await commands()).map((command) => command.name()), 'completion']
  let count = 0
  // The changelog also names those of earlier releases.
  for (const { path, text } of all.filter((document) => document.path !== 'CHANGELOG.md')) {
    for (const [, name = ''] of text.matchAll(/npm run ([\w:]+)/g)) t.ok(scripts[name], `${path}: npm run ${name}`)
    for (const [, name = ''] of text.matchAll(/(?:manager-edge|dist\/cli\.js) ([a-z]+)(?= |`|$)/gm)) {
      if (['cannot', 'in', 'is', 'with'].includes(name)) continue
      count++
      t.ok(known.includes(name), `${path}: ${name}`)
    }
  }
  t.ok(count > 30, 'commands were found')
})

t.test('every metric and log line that a document names is in the code', async (t) => {
  const names = current.flatMap(({ path, text }) => [...text.matchAll(/`(edge_[a-z_]+)[`{]/g)].map((m) => [path, m[1]]))
  t.ok(names.length > 30)
  for (const [path, name] of names) t.ok(sources.includes(`'${name}'`), `${path}: ${name}`)
  const lines = [
    ...textOf('docs/troubleshooting.md').matchAll(/`([^`]+)` in the log/g),
    ...(/## Reload\n(.*?)\n## /s.exec(textOf('docs/operations.md'))?.[1] ?? '').matchAll(/\| `([a-z][^`]+)` \|$/gm),
    ...(/\| Line \| Meaning \|\n[^\n]*\n(.*?)\n\n/s.exec(textOf('docs/monitoring.md'))?.[1] ?? '').matchAll(
      /^\| `([^`]+)`/gm,
    ),
  ].map(([, line = '']) => line)
  t.ok(lines.length > 20, `${lines.length} lines were found`)
  for (const line of lines) t.ok(sources.includes(line), line)
})

t.test('docs/monitoring.md names every metric of the edge', async (t) => {
  t.strictSame(metricsMissingIn(textOf(METRICS_DOCUMENT)), [], 'run "npm run docs:reference"')
})

t.test('the start faults that troubleshooting lists are texts of the code', async (t) => {
  const section = /## The edge does not start\n(.*?)\n## /s.exec(textOf('docs/troubleshooting.md'))?.[1] ?? ''
  const messages = [...section.matchAll(/^\| `([^`(]+?) ?(?:\(ENOENT\))?`/gm)].map(([, message = '']) => message)
  t.ok(messages.length > 5)
  for (const message of messages) t.ok(sources.includes(message), message)
})

t.test('every configuration that a document shows is accepted', async (t) => {
  const folder = t.testdir({ users: '' })
  const base = {
    cluster: {
      nodes: [{ name: 'm', type: 'master', url: 'http://127.0.0.1:1' }],
      credentials: { username: 'a', password: 'not-a-real-one' },
    },
    access: { users: 'users' },
  }
  let count = 0
  for (const { path, text } of current) {
    for (const [, block = ''] of text.matchAll(/```yaml\n(.*?)```/gs)) {
      const shown = parse(block)
      if (!new RegExp(`^(?:${SECTIONS})$`).test(Object.keys(shown)[0] ?? '')) continue
      count++
      const merged = {
        ...base,
        ...shown,
        cluster: { ...base.cluster, ...shown.cluster },
        access: { ...base.access, ...shown.access },
      }
      // The folder of the example belongs to the service.
      if (merged.audit?.file !== undefined) merged.audit.file = join(folder, 'audit.log')
      writeFileSync(join(folder, 'edge.yaml'), stringify(merged))
      const loaded = await loadConfig({ file: join(folder, 'edge.yaml'), env: {} })
      const faults = loaded.ok
        ? []
        : loaded.faults.filter((fault) => !/cannot be (?:read|written) \(ENOENT\)/.test(fault))
      t.strictSame(faults, [], `${path}:\n${block}`)
    }
  }
  t.ok(count >= 6, `${count} configurations were found`)
})

t.test('the documents name every role that exists without configuration', async (t) => {
  for (const role of Object.keys(builtInRoles)) t.ok(textOf('docs/access.md').includes(`| \`${role}\` |`), role)
})

t.test('operators find the words that they search for in the documents', async (t) => {
  const text = current.map(({ text }) => text.toLowerCase()).join('\n')
  const words = [
    ...[
      'rate limit',
      'rollback',
      'rolling restart',
      'reload',
      'graceful shutdown',
      'drain',
      'health check',
      'readiness',
    ],
    ...['liveness', 'request collapsing', 'coalescing', 'stale-while-revalidate', 'stale-if-error', 'ttl', 'eviction'],
    ...[
      'invalidation',
      'purge',
      'warm',
      'upstream',
      'concurrency limit',
      'queue',
      'load shedding',
      'retries',
      'sizing',
    ],
    ...[
      'backup',
      'certificate',
      'sentinel',
      'redis cluster',
      'failover',
      'split brain',
      'prometheus',
      'grafana',
      'alert',
    ],
    ...['opentelemetry', 'audit log', 'systemd', 'kubernetes', 'docker compose', 'haproxy', 'migration', 'canary'],
    ...['jwks', 'bearer token', 'permission', 'etag', 'cors', 'timeout', 'deadline', 'x-forwarded-for', 'threat model'],
  ]
  for (const word of words) t.ok(text.includes(word), word)
})

t.test('the README fits on three screens and starts with the two commands', async (t) => {
  const readme = textOf('README.md')
  t.ok(readme.split('\n').length <= 151)
  const [first, second] = [...readme.matchAll(/^npm ci && npm (.*)$/gm)].map(([, command]) => command)
  t.strictSame([first, second], ['run demo', 'test'])
})
