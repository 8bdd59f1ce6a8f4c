/** Files that cannot be what their settings need, and users that only one of two places names. */
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config/index.ts'

const HASH = `$2b$10$${'a'.repeat(53)}`

/** Loads settings with these lines at their end. The folder has a users file with alice, and certificates. */
async function load(t: Test, lines: string, users = `# all users\nalice:${HASH}\n`) {
  const folder = t.testdir({ users, folder: {}, text: 'no certificate\n', der: Buffer.from([0x30, 0x82, 1, 2]) })
  for (const name of ['first.crt', 'first.key']) copyFileSync(`test/support/certificates/${name}`, join(folder, name))
  const nodes = "cluster: { nodes: [{ name: m, type: master, url: 'http://127.0.0.1:1' }]"
  const head = `${nodes}, credentials: { username: u, password: p } }`
  const file = join(folder, 'edge.yaml')
  writeFileSync(file, `${head}\n${lines}`)
  const loaded = await loadConfig({ file, env: {} })
  return { folder, faults: loaded.ok ? [] : loaded.faults, warnings: loaded.ok ? loaded.warnings : [] }
}

t.test('users that only one of the two places names are warnings, with the line and the remedy', async (t) => {
  const roles = (text: string) => `access:\n  users: users\n  roles:\n    ${text}\n`
  t.strictSame(await load(t, roles('alice: [reader]')).then(({ warnings }) => warnings), [])
  const { warnings, folder } = await load(t, roles('alice: [reader]\n    alcie: [reader]'))
  const remedy = `remove it, or create the user with "manager-edge user add alcie --file ${folder}/users"`
  t.strictSame(warnings, [`edge.yaml:6:12 access.roles.alcie: there is no user "alcie" in ${folder}/users; ${remedy}`])
  const two = `alice:${HASH}\nbob:${HASH}\n`
  const without = await load(t, roles('alice: []'), two)
  t.match(without.warnings, [
    /^edge\.yaml:5:5 access\.roles: the user "bob" of \S+ has no role/,
    /^edge\.yaml:5:12 access\.roles\.alice: the user "alice" of \S+ has no role, so each request is denied; write alice: \[reader\]$/,
  ])
  t.equal(without.warnings.length, 2)
  t.strictSame((await load(t, roles('alcie: [reader]'), 'damaged\n')).warnings, [], 'the start reports a damaged file')
})

t.test('a certificate or key that is no PEM is a fault, with the line and the remedy', async (t) => {
  const access = 'access: { users: users, roles: { alice: [reader] } }\n'
  const listen = (cert: string, key: string) =>
    load(t, `${access}listen:\n  tls:\n    cert: ${cert}\n    key: ${key}\n`)
  t.strictSame((await listen('first.crt', 'first.key')).faults, [])
  t.match((await listen('text', 'text')).faults, [
    /^edge\.yaml:5:11 listen\.tls\.cert: \S+text is no certificate in PEM form; "openssl x509 -in FILE -noout -text" must show it$/,
    /^edge\.yaml:6:10 listen\.tls\.key: \S+text is no private key in PEM form; "openssl pkey /,
  ])
  t.match((await listen('der', 'first.key')).faults, [/cert: .*it is DER: convert it with "openssl x509 -inform DER/])
  t.match((await listen('first.key', 'first.crt')).faults, [
    /cert: .*it is a private key: name the other file/,
    /key: .*it is a certificate: name the other file/,
  ])
  const redis = await load(t, `${access}cache: { redis: { url: 'rediss://127.0.0.1:1', tls: { ca: text } } }\n`)
  t.match(redis.faults, [/^edge\.yaml:3:\d+ cache\.redis\.tls\.ca: \S+text is no certificate/])
})

t.test('an audit file that cannot be written is a fault, and none is created', async (t) => {
  const audit = (file: string) =>
    load(t, `access: { users: users, roles: { alice: [reader] } }\naudit:\n  file: ${file}\n`)
  t.strictSame((await audit('audit.jsonl')).faults, [])
  t.match((await audit('folder')).faults, [/^edge\.yaml:4:9 audit\.file: \S+folder is a folder; name a file in it$/])
  t.match((await audit('missing/audit.jsonl')).faults, [
    /audit\.file: \S+ cannot be written \(ENOENT\); create the folder \S+missing, and let the user of this process write/,
  ])
  t.match((await audit('text/audit.jsonl')).faults, [/audit\.file: \S+ cannot be written \(ENOTDIR\)/])
  if (process.getuid?.() === 0) return
  const { folder } = await audit('folder/audit.jsonl')
  chmodSync(join(folder, 'folder'), 0o500)
  t.match((await audit('folder/audit.jsonl')).faults, [/cannot be written \(EACCES\)/])
})
