import { createPrivateKey, createPublicKey } from 'node:crypto'
import { readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { putUser, removeUser } from '../../../src/access/users-file.ts'
import { eventually } from '../../support/eventually.ts'
import { basic, bearer, folder, passwords, startEdge, tokenOf, usersFile } from './edge.ts'

const own = { lifetime: () => 900, issuers: [] }

t.test('a removed user is refused, with password and token, in every parallel request', async (t) => {
  const edge = await startEdge(t)
  const credentials = [basic('bob', passwords.bob), bearer(await tokenOf(edge, 'bob'))]
  for (const line of credentials) t.equal((await edge.ask([line])).status, 200)
  await removeUser(edge.users, 'bob')
  await eventually(async () => (await edge.ask([credentials[0] ?? ''])).status === 401)
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, index) => edge.ask([credentials[index % 2] ?? '', `X-Address: 10.0.0.${index}`])),
  )
  t.same(new Set(replies.map(({ status }) => status)), new Set([401]))
  t.equal((await edge.ask([basic('alice', passwords.alice)])).status, 200)
})

t.test('removed roles take effect at the next request', async (t) => {
  const edge = await startEdge(t)
  const token = await tokenOf(edge, 'alice')
  edge.access.prepareReload({ roles: { alice: ['reader'] } })()
  const replies = await Promise.all(Array.from({ length: 40 }, () => edge.ask([bearer(token)])))
  for (const { text } of replies) t.same(JSON.parse(text).permissions, ['*:read'])
  t.same(JSON.parse((await edge.ask([basic('bob', passwords.bob)])).text).permissions, [], 'default deny')
})

t.test('a changed password invalidates the old password and its tokens', async (t) => {
  const edge = await startEdge(t)
  const token = await tokenOf(edge, 'bob')
  t.equal(await putUser(edge.users, 'bob', 'another', 4), 'replaced')
  await eventually(async () => (await edge.ask([basic('bob', 'another')])).status === 200)
  t.equal((await edge.ask([basic('bob', passwords.bob)])).status, 401)
  t.equal((await edge.ask([bearer(token)])).status, 401)
})

t.test('an invalid users file keeps the last valid users and is logged; a corrected file is reloaded', async (t) => {
  const edge = await startEdge(t)
  const before = await readFile(edge.users, 'utf8')
  await writeFile(edge.users, `${before}carol:$apr1$x$y\n`)
  await eventually(() => edge.logged.some((line) => /users file cannot be reloaded.*carol has an MD5 hash/.test(line)))
  t.equal((await edge.ask([basic('bob', passwords.bob)])).status, 200)
  await writeFile(edge.users, before.replace(/^bob.*\n/m, ''))
  await eventually(async () => (await edge.ask([basic('bob', passwords.bob)])).status === 401)
  await writeFile(`${edge.users}.moved`, before)
  await rename(`${edge.users}.moved`, edge.users)
  await eventually(async () => (await edge.ask([basic('bob', passwords.bob), 'X-Address: 10.0.0.1'])).status === 200)
})

t.test('a file behind a symbolic link is reloaded, though its folder sends no notification', async (t) => {
  const target = await usersFile(t)
  const link = join(await folder(t), 'users')
  await symlink(target, link)
  const edge = await startEdge(t, { users: { file: link } })
  t.equal((await edge.ask([basic('bob', passwords.bob)])).status, 200)
  await removeUser(target, 'bob')
  await eventually(async () => (await edge.ask([basic('bob', passwords.bob)])).status === 401)
})

t.test('a token of one replica is accepted by another; an old key verifies until it is removed', async (t) => {
  const keys = await folder(t)
  const users = { file: await usersFile(t) }
  const first = await createKeyFile(keys, () => new Date('2026-01-01'))
  const settings = { users, tokens: { ...own, keys } }
  const [a, b] = [await startEdge(t, settings), await startEdge(t, settings)]
  const old = await tokenOf(a, 'bob')
  t.equal((await b.ask([bearer(old)])).status, 200, 'at another replica')

  const second = await createKeyFile(keys, () => new Date('2026-01-02'))
  const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
  await eventually(async () => second.includes(kidOf(await tokenOf(a, 'bob'))))
  t.equal((await b.ask([bearer(old)])).status, 200, 'while both keys exist')
  t.equal((await b.ask([bearer(await tokenOf(a, 'bob'))])).status, 200, 'signed with the new key')

  await rm(first)
  await eventually(async () => (await b.ask([bearer(old)])).status === 401)
  await eventually(async () => (await a.ask([bearer(old)])).status === 401)
})

t.test('a public key only verifies, and an invalid folder keeps the last valid keys', async (t) => {
  const keys = await folder(t)
  const foreign = await createKeyFile(await folder(t), () => new Date('2027-01-01'))
  await createKeyFile(keys, () => new Date('2026-01-01'))
  const edge = await startEdge(t, { tokens: { ...own, keys } })
  const publicKey = createPublicKey(createPrivateKey(await readFile(foreign, 'utf8')))
  await writeFile(join(keys, '2027.pem'), publicKey.export({ type: 'spki', format: 'pem' }))
  await eventually(() => edge.logged.some((line) => line.includes('"keys":2')))
  const token = await tokenOf(edge, 'bob')
  t.equal((await edge.ask([bearer(token)])).status, 200)
  await writeFile(join(keys, '2028.pem'), 'no key')
  await eventually(() =>
    edge.logged.some((line) => /signing keys cannot be reloaded.*2028.pem is not an Ed25519 key/.test(line)),
  )
  t.equal((await edge.ask([bearer(token)])).status, 200)
  await t.rejects(startEdge(t, { tokens: { ...own, keys: await folder(t) } }), /holds no private key/)
})
