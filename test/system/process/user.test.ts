import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { result } from './program.ts'

t.test('user adds, changes, lists and removes users', async (t) => {
  const folder = t.testdir({})
  const file = join(folder, 'users')
  const user = (args: string[], input = '') => result(t, ['user', ...args, '--file', file], { input })

  const added = await user(['add', 'alice', '--cost', '4'], 'correct horse\n')
  t.equal(added.code, 0)
  t.match(added.out, `added alice in ${file}`)
  t.match(added.out, 'access.roles: { alice: [reader] }', 'names the next step')
  t.match(readFileSync(file, 'utf8'), /^alice:\$2[aby]\$04\$/)
  t.equal(statSync(file).mode & 0o777, 0o600, 'readable for this user only')

  t.match((await user(['add', 'alice', '--cost', '4'], 'another horse\n')).out, 'replaced alice')
  const made = await user(['add', 'bob', '--generate', '--cost', '4'])
  t.match(made.out, /^password: [\w-]{24}\nadded bob/)
  t.equal((await user(['list'])).out, 'alice\nbob\n')
  t.equal((await user(['remove', 'alice'])).code, 0)
  t.equal((await user(['list'])).out, 'bob\n')

  const none = await user(['remove', 'alice'])
  t.equal(none.code, 1)
  t.match(none.err, 'has no user alice; "user list" lists them')
  const short = await user(['add', 'carol', '--cost', '4'], 'elevenchars\n')
  t.equal(short.code, 1)
  t.match(short.err, 'the password has 11 characters; use at least 12, or --generate (--force accepts it)')
  t.equal((await user(['list'])).out, 'bob\n', 'nothing was written')
  t.match((await user(['add', 'carol', '--force', '--cost', '4'], 'elevenchars\n')).out, 'added carol')
  t.match((await user(['add', 'dora', '--cost', '4'], 'twelve chars\n')).out, 'added dora', 'twelve are enough')

  const noInput = await user(['add', 'eve'])
  t.equal(noInput.code, 1)
  t.match(noInput.err, 'standard input has no password')
  t.equal((await user(['add', 'a:b'], 'x\n')).code, 1)
  const nowhere = join(folder, 'nowhere')
  for (const args of [
    ['user', 'list', '--file', nowhere],
    ['audit', 'verify', nowhere],
  ]) {
    const { code, err } = await result(t, args)
    t.equal(code, 1)
    t.equal(err, `${nowhere} cannot be opened (ENOENT); check the path and the permissions of this user\n`)
  }
})
