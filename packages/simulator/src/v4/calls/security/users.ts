/** The calls about users and their roles. */
import { type ErrorCode, V4Error } from '../../errors.ts'
import type { Asked, Call } from '../../model.ts'
import { isTrue } from '../../parameters.ts'
import { nextId } from '../../rbac/store.ts'
import { bothTexts, changeOne, createCall, isReserved, readCall, removeCall, updateCall, wholeNeed } from './objects.ts'

/** Throws 5009 for a length, 5007 for a text that is too simple. */
function checkPassword(password: string): void {
  if (password.length < 8 || password.length > 64) throw new V4Error(5009)
  const isStrong = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/].every((one) => one.test(password))
  if (!isStrong) throw new V4Error(5007)
}

function create({ security, fields }: Asked, name: string): ErrorCode | number[] {
  const { users } = security.store
  const password = String(fields.password)
  checkPassword(password)
  if (security.store.userNamed(name) !== undefined) return 5000
  const id = nextId(users)
  users.set(id, { id, name, password, runAs: false, roles: [] })
  return [id]
}

function update({ security, fields }: Asked, id: number): ErrorCode | undefined {
  const user = security.store.users.get(id)
  if (user === undefined || fields.password === undefined) return 5003
  const password = String(fields.password)
  checkPassword(password)
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
