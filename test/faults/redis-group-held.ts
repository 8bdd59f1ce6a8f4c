import type { Test } from 'tap'
import type { Course } from './redis-course.ts'
import { IN_FLIGHT } from './redis-stage.ts'

/** What holds of a Redis of several servers, in the short form: relative to this very run, since machines are busy. */
export function holds(t: Test, result: Course): void {
  const { before, during, after, failures, most, written } = result
  t.same(failures.slice(0, 3), [], 'nothing fails')
  t.equal(written?.unanswered, 0)
  t.same(written?.violations.slice(0, 3), [], 'nothing old is read')
  t.ok((written?.writes ?? 0) > 3, `${written?.writes} writes`)
  t.ok(during.p50 <= 2 * before.p99 + 250, `${during.p50} ms against ${before.p99} ms before`)
  t.ok(most <= 2 * IN_FLIGHT, `${most} calls at once`)
  t.ok(before.hits > 0.5 * before.requests, 'hot before')
  t.ok(after.hits > 0.5 * after.requests, 'hot again after')
}
