/** The calls about users and their roles. */
import { type ErrorCode, V4Error } from '../../errors.ts'
import type { Asked, Call } from '../../model.ts'
import { isTrue } from '../../parameters.ts'
import { nextId } from '../../rbac/store.ts'
import { hasRelease5 } from '../../releases.ts'
import { bothTexts, changeOne, createCall, isReserved, readCall, removeCall, updateCall, wholeNeed } from './objects.ts'

const MIN_LENGTH = 8
const MIN_LENGTH_OF_5 = 12

/** Throws 5009 for a length, 5007 for a text that is too simple. */
function checkPassword(password: string, asked: Asked): void {
  const min = hasRelease5(asked) ? MIN_LENGTH_OF_5 : MIN_LENGTH
  if (password.length < min || password.length > 64) {
    const remediation = `The password must contain a length between ${min} and 64 characters.`
    throw new V4Error(5009, '', { remediation })
  }
  const isStrong = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/].every((one) => one.test(password))
  if (!isStrong) throw new V4Error(5007)
}

function create(asked: Asked, name: string): ErrorCode | number[] {
  const { security, fields } = asked
  const { users } = security.store
  const password = String(fields.password)
  checkPassword(password, asked)
  if (security.store.userNamed(name) !== undefined) return 5000
  const id = nextId(users)
  users.set(id, { id, name, password, runAs: false, roles: [] })
  return [id]
}

function update(asked: Asked, id: number): ErrorCode | undefined {
  const { security, fields } = asked
  const user = security.store.users.get(id)
  if (user === undefined || fields.password === undefined) return 5003
  const password = String(fields.password)
  checkPassword(password, asked)
  user.password = password
  security.end({ users: [id] })
  return undefined
}

function remove({ security, session }: Asked, id: number): ErrorCode | undefined {
  if (isReserved(id)) return 5004
  if (session.user.id === id) return 5008
  security.store.users.delete(id)
  security.end({ users: [id] })
  return undefined
}

const runAsTexts = (done: string) =>
  bothTexts(
    `Parameter allow_run_as has been ${done} for the user`,
    `The parameter allow_run_as could not be ${done} for the user`,
  )

export const userCalls: readonly Call[] = [
  readCall(
    'users',
    bothTexts('All specified users were returned', 'No user was returned', 'Some users were not returned'),
  ),
  createCall('users', bothTexts('User was successfully created', 'User could not be created'), 'create_user', create),
  updateCall('users', bothTexts('User was successfully updated', 'User could not be updated'), update),
  removeCall(
    'users',
    bothTexts('Users were successfully deleted', 'No user was deleted', 'Some users were not deleted'),
    remove,
  ),
  {
    method: 'PUT',
    path: '/security/users/{user_id}/run_as',
    runs: 'master',
    needs: [wholeNeed('edit_run_as')],
    texts: ({ query }) => runAsTexts(isTrue(query.allow_run_as) ? 'enabled' : 'disabled'),
    run: (asked) =>
      changeOne(asked, 'users', Number(asked.params.user_id), ({ security, query }, id) => {
        const user = security.store.users.get(id)
        if (user !== undefined) user.runAs = isTrue(query.allow_run_as)
        security.end({ users: [id] })
        return undefined
      }),
  },
]
