import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verify } from '@node-rs/bcrypt'
import t, { type Test } from 'tap'
import { parseUsers, putUser, removeUser } from '../../../src/access/users-file.ts'

const hash = '$2y$04$abcdefghijklmnopqrstuuAbCdEfGhIjKlMnOpQrStUvWxYz01234'

async function createPath(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-users-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'users')
}

t.test('lines of the htpasswd tool are parsed, with all three prefixes of bcrypt', async (t) => {
  const text = `# people\nalice:${hash}\r\n\nbob:${hash.replace('2y', '2a')}\n__proto__:${hash.replace('2y', '2b')}\n`
  const { users, faults } = parseUsers(text)
  t.same(faults, [])
  t.same([...users.keys()], ['alice', 'bob', '__proto__'])
})

t.test('every other line is refused with a remedy, and the message does not contain the hash', async (t) => {
  const rows: Record<string, RegExp> = {
    'bob:$apr1$salt$digest':
      /line 1: bob has an MD5 hash; only bcrypt is accepted: create the line with `manager-edge user add/,
    'bob:{SHA}digest=': /SHA-1/,
    'bob:$6$salt$digest': /SHA-crypt/,
    'bob:$argon2id$digest': /another kind/,
    'bob:digest': /no bcrypt hash/,
    'bob:': /no hash/,
    [`bob:${hash}x`]: /damaged bcrypt/,
    [`bob:${hash.replace('04', '31')}`]: /cost 31; 4 to 15/,
    digest: /line 1: no colon/,
    [`:${hash}`]: /a name is/,
    [`bo b:${hash}`]: /a name is/,
    [`x#y:${hash}`]: /a name is/,
    [`bob:${hash}\nbob:${hash}`]: /line 2: bob is listed twice/,
  }
  for (const [text, fault] of Object.entries(rows)) {
    const { faults } = parseUsers(text)
    t.match(faults, [fault], text)
    t.notMatch(faults.join(), /digest|abcdefgh/, text)
  }
})

t.test('users are added, replaced and removed; other lines stay, and the file has mode 0600', async (t) => {
  const file = await createPath(t)
  t.equal(await putUser(file, 'bob', 'one', 4), 'added')
  await writeFile(file, `# people\n${await readFile(file, 'utf8')}carol:${hash}`)
  t.equal(await putUser(file, 'bob', 'two', 4), 'replaced')
  t.equal(await putUser(file, 'dave', 'three', 4), 'added')
  const lines = (await readFile(file, 'utf8')).split('\n')
  t.match(lines, ['# people', /^bob:\$2y\$04\$/, `carol:${hash}`, /^dave:/, ''])
  t.ok(await verify('two', lines[1]?.slice(4) ?? ''))
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.ok(await removeUser(file, 'carol'))
  t.notOk(await removeUser(file, 'carol'))
  t.same([...parseUsers(await readFile(file, 'utf8')).users.keys()], ['bob', 'dave'])
})

t.test('the group keeps its read permission after an edit; others never get it', async (t) => {
  const file = await createPath(t)
  await putUser(file, 'bob', 'one', 4)
  await chmod(file, 0o664)
  await putUser(file, 'carol', 'one', 4)
  t.equal((await stat(file)).mode & 0o777, 0o640)
})

t.test('a link to the file stays a link', async (t) => {
  const file = await createPath(t)
  await putUser(file, 'bob', 'one', 4)
  await symlink(file, `${file}.link`)
  await putUser(`${file}.link`, 'carol', 'one', 4)
  t.equal(parseUsers(await readFile(file, 'utf8')).users.size, 2)
})

t.test('concurrent edits are refused instead of lost', async (t) => {
  const file = await createPath(t)
  const edits = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => putUser(file, name, 'x', 4)))
  const done = edits.filter(({ status }) => status === 'fulfilled').length
  t.equal(parseUsers(await readFile(file, 'utf8')).users.size, done)
  for (const edit of edits) if (edit.status === 'rejected') t.match(edit.reason, /another edit is in progress/)
})

t.test('names and passwords that are not allowed are refused', async (t) => {
  const file = await createPath(t)
  await t.rejects(putUser(file, 'a:b', 'x'), /a name is/)
  await t.rejects(putUser(file, 'bob', ''), /empty/)
  await t.rejects(putUser(file, 'bob', 'a\nb'), /control characters/)
  await t.rejects(putUser(file, 'bob', 'ä'.repeat(37)), /at most 72 bytes/)
})
