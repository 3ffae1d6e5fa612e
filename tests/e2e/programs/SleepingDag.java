import java.util.HashMap;
import java.util.Map;

import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.tez.client.TezClient;
import org.apache.tez.dag.api.DAG;
import org.apache.tez.dag.api.Edge;
import org.apache.tez.dag.api.ProcessorDescriptor;
import org.apache.tez.dag.api.TezConfiguration;
import org.apache.tez.dag.api.Vertex;
import org.apache.tez.dag.api.client.DAGStatus;
import org.apache.tez.runtime.library.conf.OrderedPartitionedKVEdgeConfig;
import org.apache.tez.runtime.library.partitioner.HashPartitioner;
import org.apache.tez.runtime.library.processor.SleepProcessor;

/**
 * Runs one DAG whose tasks sleep, and waits for it: SleepingDag NAME VERTEX:TASKS:MILLISECONDS,... FROM-TO,...; the
 * last vertex of every edge begins when all tasks of its first have ended.
 */
public final class SleepingDag {
  private SleepingDag() {
  }

  public static void main(String[] arguments) throws Exception {
    TezConfiguration settings = new TezConfiguration();
    DAG dag = DAG.create(arguments[0]);
    Map<String, Vertex> vertices = new HashMap<>();
    for (String each : arguments[1].split(",")) {
      String[] parts = each.split(":");
      SleepProcessor.SleepProcessorConfig sleep = new SleepProcessor.SleepProcessorConfig(Integer.parseInt(parts[2]));
      ProcessorDescriptor task = ProcessorDescriptor.create(SleepProcessor.class.getName());
      task.setUserPayload(sleep.toUserPayload());
      Vertex vertex = Vertex.create(parts[0], task, Integer.parseInt(parts[1]));
      vertices.put(parts[0], vertex);
      dag.addVertex(vertex);
    }
    OrderedPartitionedKVEdgeConfig edge = OrderedPartitionedKVEdgeConfig
        .newBuilder(Text.class.getName(), IntWritable.class.getName(), HashPartitioner.class.getName())
        .setFromConfiguration(settings).build();
    for (String each : arguments.length > 2 ? arguments[2].split(",") : new String[0]) {
      String[] ends = each.split("-");
      dag.addEdge(Edge.create(vertices.get(ends[0]), vertices.get(ends[1]), edge.createDefaultEdgeProperty()));
    }
    TezClient client = TezClient.create(arguments[0], settings, false);
    client.start();
    try {
      DAGStatus ended = client.submitDAG(dag).waitForCompletion();
      System.out.println("state " + ended.getState());
      System.exit(ended.getState() == DAGStatus.State.SUCCEEDED ? 0 : 1);
    } finally {
      client.stop();
    }
  }
}
