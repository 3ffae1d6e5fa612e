import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.tez.client.TezClient;
import org.apache.tez.dag.api.DAG;
import org.apache.tez.dag.api.Edge;
import org.apache.tez.dag.api.ProcessorDescriptor;
import org.apache.tez.dag.api.TezConfiguration;
import org.apache.tez.dag.api.UserPayload;
import org.apache.tez.dag.api.Vertex;
import org.apache.tez.dag.api.client.DAGStatus;
import org.apache.tez.runtime.api.ProcessorContext;
import org.apache.tez.runtime.library.conf.OrderedPartitionedKVEdgeConfig;
import org.apache.tez.runtime.library.partitioner.HashPartitioner;
import org.apache.tez.runtime.library.processor.SimpleProcessor;

/**
 * Runs DAGs one after the other in one session: TezSession NAME FOLDER GATE DAG VERTEX:TASKS:MILLISECONDS,...
 * FROM-TO,..., the last three for each DAG. A task sleeps, and then leaves a file FOLDER/DAG.VERTEX.TASK.ATTEMPT. The
 * last DAG begins once there is a file GATE.
 */
public final class TezSession {
  private static final int LOOK_MS = 100;

  private TezSession() {
  }

  /** Sleeps, and leaves a file; its payload is the folder and the milliseconds. */
  public static final class Marking extends SimpleProcessor {
    public Marking(ProcessorContext context) {
      super(context);
    }

    @Override
    public void run() throws Exception {
      String[] words = StandardCharsets.UTF_8.decode(getContext().getUserPayload().getPayload()).toString().split("\n");
      Thread.sleep(Long.parseLong(words[1]));
      String name = getContext().getDAGName() + "." + getContext().getTaskVertexName() + "."
          + getContext().getTaskIndex() + "." + getContext().getTaskAttemptNumber();
      new File(words[0], name).createNewFile();
    }
  }

  private static DAG dag(TezConfiguration settings, String folder, String name, String stages, String needs) {
    DAG dag = DAG.create(name);
    Map<String, Vertex> vertices = new HashMap<>();
    for (String each : stages.split(",")) {
      String[] parts = each.split(":");
      ByteBuffer payload = StandardCharsets.UTF_8.encode(folder + "\n" + parts[2]);
      ProcessorDescriptor task = ProcessorDescriptor.create(Marking.class.getName());
      task.setUserPayload(UserPayload.create(payload));
      Vertex vertex = Vertex.create(parts[0], task, Integer.parseInt(parts[1]));
      vertices.put(parts[0], vertex);
      dag.addVertex(vertex);
    }
    OrderedPartitionedKVEdgeConfig edge = OrderedPartitionedKVEdgeConfig
        .newBuilder(Text.class.getName(), IntWritable.class.getName(), HashPartitioner.class.getName())
        .setFromConfiguration(settings).build();
    for (String each : needs.split(",")) {
      String[] ends = each.split("-");
      dag.addEdge(Edge.create(vertices.get(ends[0]), vertices.get(ends[1]), edge.createDefaultEdgeProperty()));
    }
    return dag;
  }

  public static void main(String[] arguments) throws Exception {
    TezConfiguration settings = new TezConfiguration();
    TezClient client = TezClient.create(arguments[0], settings, true);
    client.start();
    boolean isWell = true;
    try {
      client.waitTillReady();
      for (int at = 3; at < arguments.length; at += 3) {
        while (at + 3 >= arguments.length && !new File(arguments[2]).exists()) {
          Thread.sleep(LOOK_MS);
        }
        DAG next = dag(settings, arguments[1], arguments[at], arguments[at + 1], arguments[at + 2]);
        DAGStatus ended = client.submitDAG(next).waitForCompletion();
        System.out.println("state " + ended.getState());
        isWell &= ended.getState() == DAGStatus.State.SUCCEEDED;
      }
    } finally {
      client.stop();
    }
    System.exit(isWell ? 0 : 1);
  }
}
