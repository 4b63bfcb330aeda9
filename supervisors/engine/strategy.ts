import type { Strategy } from '../../protocol/child.ts'

/**
 * Who is restarted when one of a supervisor's children dies, in the order they start; those that
 * live are ended first, in reverse. A nested supervisor is one child, with all that is below it.
 *
 * @param children  in the order they start; `dead` is one of them
 */
export function restartedWith<T>(
  strategy: Strategy,
  children: readonly T[],
  dead: T,
): readonly T[] {
  switch (strategy) {
    case 'one-for-one':
      return [dead]
    case 'one-for-all':
      return children
    case 'rest-for-one':
      return children.slice(children.indexOf(dead))
  }
}
