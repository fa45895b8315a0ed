import { expect } from 'chai';

import { FlowFences } from '#services/ingester/region/flow-fences';

describe('FlowFences', () => {
  const isRefused = (fences: FlowFences, flowId: number, epoch: number): boolean => {
    try {
      fences.check({ flowId, epoch });
      return false;
    } catch {
      return true;
    }
  };

  it('remember the flows that were fenced last, so that flows that come and go take no memory', () => {
    const fences = new FlowFences();
    for (let flowId = 1; flowId <= 10_000; flowId++) fences.raise({ flowId, epoch: 2 });
    fences.raise({ flowId: 1, epoch: 2 });
    fences.raise({ flowId: 10_001, epoch: 2 });
    expect([1, 3, 10_000, 10_001].map((flowId) => isRefused(fences, flowId, 1))).to.not.include(false);
    expect(isRefused(fences, 2, 1), 'the oldest').to.equal(false);
  });
});
