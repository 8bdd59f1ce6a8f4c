import type { Test } from 'tap'
import type { CourseResult } from './redis-course.ts'
import { MAX_CALLS } from './redis-stage.ts'

/** Checks a course over several Redis servers, relative to the times of the same run, since machines are busy. */
export function assertCourse(t: Test, result: CourseResult, { mayRefuseWrites = false } = {}): void {
  const { before, during, after, failures, maxCalls, written } = result
  t.same(failures.slice(0, 3), [], 'nothing fails')
  t.equal(written?.unanswered, 0)
  if (!mayRefuseWrites) t.equal(written?.refused, 0)
  t.same(written?.violations.slice(0, 3), [], 'nothing old is read')
  t.ok((written?.writes ?? 0) > 3, `${written?.writes} writes`)
  t.ok(during.p50 <= 2 * before.p99 + 250, `${during.p50} ms against ${before.p99} ms before`)
  t.ok(maxCalls <= 2 * MAX_CALLS, `${maxCalls} calls at once`)
  t.ok(before.hits > 0.5 * before.requests, 'mostly hits before')
  t.ok(after.hits > 0.5 * after.requests, 'mostly hits afterwards')
}
