import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verify } from '@node-rs/bcrypt'
import t, { type Test } from 'tap'
import { parseUsers, putUser, removeUser } from '../../../src/access/users-file.ts'

const hash = '$2y$04$abcdefghijklmnopqrstuuAbCdEfGhIjKlMnOpQrStUvWxYz01234'

async function place(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-users-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'users')
}

t.test('lines of the htpasswd tool are read, bcrypt of all three names', async (t) => {
  const text = `# people\nalice:${hash}\r\n\nbob:${hash.replace('2y', '2a')}\n__proto__:${hash.replace('2y', '2b')}\n`
  const { users, faults } = parseUsers(text)
  t.same(faults, [])
  t.same([...users.keys()], ['alice', 'bob', '__proto__'])
})

t.test('every other line is refused with what to do, and without its hash', async (t) => {
  const rows: Record<string, RegExp> = {
    'bob:$apr1$salt$digest':
      /line 1: bob has an MD5 hash; only bcrypt is taken: make the entry with `manager-edge user add/,
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
    [`bob:${hash}\nbob:${hash}`]: /line 2: bob stands there twice/,
  }
  for (const [text, fault] of Object.entries(rows)) {
    const { faults } = parseUsers(text)
    t.match(faults, [fault], text)
    t.notMatch(faults.join(), /digest|abcdefgh/, text)
  }
})

t.test('users are put into the file and taken out; everything else stays, and nobody else may read it', async (t) => {
  const file = await place(t)
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

t.test('who reads the file as a member of its group reads the next one too; others never do', async (t) => {
  const file = await place(t)
  await putUser(file, 'bob', 'one', 4)
  await chmod(file, 0o664)
  await putUser(file, 'carol', 'one', 4)
  t.equal((await stat(file)).mode & 0o777, 0o640)
})

t.test('a link to the file stays a link', async (t) => {
  const file = await place(t)
  await putUser(file, 'bob', 'one', 4)
  await symlink(file, `${file}.link`)
  await putUser(`${file}.link`, 'carol', 'one', 4)
  t.equal(parseUsers(await readFile(file, 'utf8')).users.size, 2)
})

t.test('edits do not overwrite one another', async (t) => {
  const file = await place(t)
  const edits = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => putUser(file, name, 'x', 4)))
  const done = edits.filter(({ status }) => status === 'fulfilled').length
  t.equal(parseUsers(await readFile(file, 'utf8')).users.size, done)
  for (const edit of edits) if (edit.status === 'rejected') t.match(edit.reason, /another edit is under way/)
})

t.test('what cannot be a name or a password is refused', async (t) => {
  const file = await place(t)
  await t.rejects(putUser(file, 'a:b', 'x'), /a name is/)
  await t.rejects(putUser(file, 'bob', ''), /empty/)
  await t.rejects(putUser(file, 'bob', 'a\nb'), /control characters/)
  await t.rejects(putUser(file, 'bob', 'ä'.repeat(37)), /at most 72 bytes/)
})
