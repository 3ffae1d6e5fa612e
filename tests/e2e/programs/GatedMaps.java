import java.io.File;
import java.io.IOException;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.NLineInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer;
import org.apache.hadoop.util.GenericOptionsParser;

/**
 * Submits a MapReduce job and does not wait for it: GatedMaps NAME LINES GATES OUTPUT REDUCES. It has a map for each
 * line of a file. A map says that it runs by a file GATES/began-LINE, waits for GATES/end-LINE or GATES/end-all, and
 * then writes its line and 1; reduces add up.
 */
public final class GatedMaps {
  private static final String GATES = "gated.gates";
  private static final int LOOK_MS = 100;

  private GatedMaps() {
  }

  /** Waits in small steps: a task that reports nothing for long is taken for dead. */
  public static final class Gated extends Mapper<LongWritable, Text, Text, IntWritable> {
    @Override
    protected void map(LongWritable offset, Text line, Context context) throws IOException, InterruptedException {
      File gates = new File(context.getConfiguration().get(GATES));
      new File(gates, "began-" + line).createNewFile();
      while (!new File(gates, "end-" + line).exists() && !new File(gates, "end-all").exists()) {
        Thread.sleep(LOOK_MS);
        context.progress();
      }
      context.write(line, new IntWritable(1));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new Configuration();
    String[] words = new GenericOptionsParser(configuration, arguments).getRemainingArgs();
    configuration.set(GATES, words[2]);
    Job job = Job.getInstance(configuration, words[0]);
    job.setJarByClass(GatedMaps.class);
    job.setInputFormatClass(NLineInputFormat.class);
    NLineInputFormat.setNumLinesPerSplit(job, 1);
    NLineInputFormat.addInputPath(job, new Path(words[1]));
    FileOutputFormat.setOutputPath(job, new Path(words[3]));
    job.setMapperClass(Gated.class);
    job.setReducerClass(IntSumReducer.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(IntWritable.class);
    job.setNumReduceTasks(Integer.parseInt(words[4]));
    job.setSpeculativeExecution(false);
    job.submit();
    System.out.println("submitted " + job.getJobID());
    System.exit(0);
  }
}
