/** Each setting that names a file or a folder, with each state that a file can have: one sentence with the place and the remedy. */
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { checkStart } from '../../../src/cli/check.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { schema } from '../../../src/config/schema.ts'
import { listLeaves, setIn } from '../../../src/config/tree.ts'

const HASH = `$2b$10$${'a'.repeat(53)}`

/** What a file contains to be right, and what makes it wrong. `may`: states that are right as well. */
interface Kind {
  readonly right: Buffer | string
  readonly broken: Buffer | string
  readonly may?: readonly State[]
}

const text: Kind = { right: 'a-secret-of-its-own\n', broken: Buffer.from('pa\xdfwort', 'latin1') }
const certificate: Kind = { right: 'first.crt', broken: 'no certificate' }
const kinds: Readonly<Record<string, Kind>> = {
  'listen.tls.cert': certificate,
  'listen.tls.key': { right: 'first.key', broken: 'no key' },
  'operations.tls.cert': certificate,
  'operations.tls.key': { right: 'first.key', broken: 'no key' },
  'operations.signIn.clientSecretFile': text,
  'cluster.credentials.passwordFile': text,
  'cluster.tls.ca': certificate,
  'cluster.tls.cert': certificate,
  'cluster.tls.key': { right: 'first.key', broken: 'no key' },
  'cache.redis.passwordFile': text,
  'cache.redis.tls.ca': certificate,
  // Any bytes are a key, if they are enough of them.
  'cache.encryptionKeyFile': { right: 'k'.repeat(44), broken: 'short' },
  // A users file without users is one in which users will be added.
  'access.users': { right: `alice:${HASH}\n`, broken: 'no colon\n', may: ['empty'] },
  'access.tokens.keys': { right: '', broken: 'no key' },
  // The edge creates the file, and writes behind what it has.
  'audit.file': { right: '', broken: 'no record\n', may: ['missing', 'empty', 'broken'] },
  'traces.headersFile': { right: 'authorization: a\n', broken: 'no header\n' },
}

/** A socket: its mode permits to read it, and no user can open it, not even root. */
const place = mkdtempSync(join(tmpdir(), 'edge-'))
const socket = join(place, 'socket')
const server = createServer().listen(socket)
await once(server, 'listening')
t.teardown(() => {
  server.close()
  rmSync(place, { recursive: true })
})

const states = ['missing', 'folder', 'unreadable', 'empty', 'broken'] as const
type State = (typeof states)[number]

const settings = {
  listen: { host: '127.0.0.1', port: 0 },
  operations: {
    host: '127.0.0.1',
    port: 0,
    signIn: {
      issuer: 'https://127.0.0.1:1',
      clientId: 'edge',
      redirectUrl: 'https://127.0.0.1:1/sign-in/callback',
      roles: { all: ['reader'] },
    },
  },
  cluster: {
    nodes: [{ name: 'm', type: 'master', url: 'https://127.0.0.1:1' }],
    credentials: { username: 'u' },
    discover: false,
  },
  cache: { redis: { url: 'rediss://127.0.0.1:1', username: 'u' } },
  access: { roles: { alice: ['reader'] } },
  traces: { endpoint: 'https://127.0.0.1:1/v1/traces' },
}

/** Writes the file of each setting as it must be, and the configuration. */
async function prepare(t: Test) {
  const folder = t.testdir({})
  const tree = parse(stringify(settings))
  for (const [name, { right }] of Object.entries(kinds)) {
    const file = join(folder, name)
    if (name === 'access.tokens.keys') {
      mkdirSync(file)
      await createKeyFile(file)
    } else if (typeof right === 'string' && /^first\./.test(right)) {
      copyFileSync(`test/support/certificates/${right}`, file)
      chmodSync(file, 0o600)
    } else writeFileSync(file, right)
    setIn(tree, name.split('.'), name)
  }
  const config = join(folder, 'edge.yaml')
  writeFileSync(config, stringify(tree))
  return { folder, config }
}

/** Puts the file into a state. The folder of keys has the state in its one key, or is a file. */
function put(file: string, state: State, { broken }: Kind): void {
  const isFolder = file.endsWith('keys')
  rmSync(file, { recursive: true })
  const isKeys = isFolder && state !== 'folder' && state !== 'missing'
  if (isKeys) mkdirSync(file)
  const inside = isKeys ? join(file, 'a.pem') : file
  if (state === 'unreadable') symlinkSync(socket, inside)
  else if (state === 'broken') writeFileSync(inside, broken)
  else if (state === 'folder' && !isFolder) mkdirSync(file)
  else if (state === 'folder' || (state === 'empty' && !isFolder)) writeFileSync(file, '')
}

/** Returns the lines that a start prints before it ends. */
async function faultsOf(config: string): Promise<readonly string[]> {
  const loaded = await loadConfig({ file: config, env: {} })
  if (!loaded.ok) return loaded.faults
  return checkStart(loaded.config).then(
    () => [],
    ({ message }: Error) => message.split('\n'),
  )
}

t.test('the table has each setting that names a file', async (t) => {
  const named = listLeaves(schema).flatMap(({ path, schema: { format } }) =>
    format === 'path' ? [path.join('.')] : [],
  )
  t.strictSame(Object.keys(kinds).sort(), named.sort())
  const { config } = await prepare(t)
  t.strictSame(await faultsOf(config), [], 'with right files, the edge starts')
})

for (const [name, kind] of Object.entries(kinds)) {
  for (const state of states) {
    t.test(`${name}: ${state}`, async (t) => {
      const { folder, config } = await prepare(t)
      put(join(folder, name), state, kind)
      const lines = await faultsOf(config)
      if (kind.may?.includes(state)) return t.strictSame(lines, [], 'a state that a start accepts')
      t.equal(lines.length, 1, `one sentence: ${lines.join(' | ')}`)
      const [line = ''] = lines
      t.match(line, new RegExp(`^(?:edge\\.yaml:\\d+:\\d+ )?${name.replaceAll('.', '\\.')}: `), 'the setting')
      t.ok(line.includes(join(folder, name)), 'the file')
      t.match(line, /; \S/, 'the remedy')
    })
  }
}
